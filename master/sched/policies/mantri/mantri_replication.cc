#include "master/sched/policies/mantri/mantri_replication.h"
#include "master/sched/policies/mantri/reasons.h"

#include <algorithm>
#include <set>

namespace mr::sched {

namespace {

constexpr char kOfJob[] = "job", kTokens[] = "tokens", kRedo[] = "redo", kFailed[] = "failed";
constexpr double kPriorOutputs = 20;
// Fewest bytes from which a worker's bandwidth is measured. With fewer, small reads dominate. A guess.
constexpr uint64_t kMeasuredBytes = uint64_t{64} << 20;
// Workers examined for a place, and places to choose from: a replica is not worth a walk over the cluster.
constexpr int kWorkersSeen = 256;
constexpr size_t kPlaces = 4;
// Tries per output, each on another worker. A guess: after three failures the workers are not to blame.
constexpr size_t kTries = 3;

class MantriReplication final : public Policy {
 public:
  MantriReplication(double budget, double bandwidth, bool always)
      : budget_(budget), bandwidth_(bandwidth), always_(always) {}

  std::string_view name() const override { return "mantri_replication"; }

  void Refine(const Trigger& trigger, const View& view, Rng&, Plan& plan) const override {
    const State& state = view.state();
    if (const auto* ended = std::get_if<JobsEnded>(&trigger)) {
      for (const JobId job : ended->jobs) plan.ForgetAll(kOfJob, FactId(job));
    }
    if (const auto* failed = std::get_if<ReplicaFailed>(&trigger)) return Again(*failed, view, &plan);
    const auto* changed = std::get_if<AttemptsChanged>(&trigger);
    if (changed == nullptr || (state.outputs_lost() == 0 && !always_)) return;
    std::map<FactKey, double> facts;  // as they are with this plan
    for (const AttemptId& id : std::set<AttemptId>(changed->attempts.begin(), changed->attempts.end())) {
      const Attempt* a = state.FindAttempt(id);
      if (a == nullptr || a->state != AttemptState::kCommitted || a->ended_at != view.now()) continue;
      const Job& job = *state.FindJob(id.task.job);
      const Task& task = *state.FindTask(id.task);
      const bool wins = job.running() && task.winner == id.number && !task.replicas.empty();
      if (wins) Judge(view, job, id.task, task, *a, &facts, &plan);
    }
    for (const auto& [key, value] : facts) {
      const FactValue* old = state.FindFact(key);
      if (old == nullptr ? value != 0 : std::get<double>(*old) != value) {
        plan.Remember(key.scope, key.id, key.name, value);
      }
    }
  }

 private:
  static double& Fact(const View& view, JobId job, const std::string& what, std::map<FactKey, double>* facts) {
    const FactKey key{view.owner(), kOfJob, FactId(job), what};
    const auto [it, added] = facts->try_emplace(key, 0);
    const FactValue* fact = added ? view.state().FindFact(key) : nullptr;
    if (fact != nullptr) it->second = std::get<double>(*fact);
    return it->second;
  }

  void Judge(const View& view, const Job& job, const TaskId& id, const Task& task, const Attempt& a,
             std::map<FactKey, double>* facts, Plan* plan) const {
    const State& state = view.state();
    const Worker& from = *state.FindWorker(a.worker);
    double inputs = 0;
    for (const Slice& slice : task.plan.slices) {
      const uint32_t up = job.graph.stages[id.stage].inputs[slice.input].upstream;
      const double part = static_cast<double>(slice.task_end - slice.task_begin) /
                          static_cast<double>(std::max<size_t>(1, job.stages[up].tasks.size()));
      inputs += part * Fact(view, job.id, kRedo + std::to_string(up), facts);
    }
    const double r = LossRate(state, from);
    double redo = RedoSeconds(r, std::max(0.0, (a.ended_at - a.started_at - a.waited).seconds()), inputs);
    const double bytes = static_cast<double>(task.manifest.bytes);
    const double rep = bytes / Bandwidth(from);
    double& tokens = Fact(view, job.id, kTokens, facts);
    // An output that is made again has been paid for.
    if (task.generation == 1) {
      const uint64_t processed = InputBytes(task, a);
      tokens += budget_ * (processed > 0 ? static_cast<double>(processed) : bytes);
    }
    const bool worth = redo > rep && bytes <= tokens && state.Needed(job, id, true);
    if (always_ || worth) {
      const Worker* to = PlaceFor(state, from, task, id.task);
      const Replica replica = state.MakeReplica(id, task.replicas.front());
      if (to != nullptr && plan->Replicate(replica, to->id, {MantriReason::kRedoCostsMore, "", {redo, rep}})) {
        redo *= LossRate(state, *to);
        tokens -= always_ ? 0 : bytes;
      }
    }
    if (task.generation == 1) Fact(view, job.id, kRedo + std::to_string(id.stage), facts) += redo;
  }

  // Asks another worker for the replica. Facts store the workers that failed.
  void Again(const ReplicaFailed& failed, const View& view, Plan* plan) const {
    const State& state = view.state();
    const OutputId& output = failed.from.output;
    const Task& task = *state.FindTask(output.task);
    if (!view.Serves(*state.FindJob(output.task.job)) || task.replicas.size() > 1) return;
    const std::string prefix = std::string(kFailed) + std::to_string(output.task.stage) + "/" +
                               std::to_string(output.task.task) + "/" + std::to_string(output.generation) + "/";
    const uint64_t job = FactId(output.task.job);
    std::set<WorkerId> tried = {failed.to};
    const std::string owner = view.owner();
    for (auto fact = state.facts().lower_bound({owner, kOfJob, job, prefix}); fact != state.facts().end(); ++fact) {
      const FactKey& key = fact->first;
      if (key.policy != owner || key.scope != kOfJob || key.id != job || !key.name.starts_with(prefix)) break;
      tried.insert({static_cast<uint32_t>(std::get<int64_t>(fact->second))});
    }
    if (tried.size() >= kTries) return;
    const Worker* to = PlaceFor(state, *state.FindWorker(task.replicas.front().worker), task, output.task.task, tried);
    if (to == nullptr) return;
    plan->Remember(kOfJob, job, prefix + std::to_string(failed.to.value), int64_t{failed.to.value});
    plan->Replicate(state.MakeReplica(output.task, task.replicas.front()), to->id,
                    {MantriReason::kReplicaElsewhere,
                     "",
                     {static_cast<double>(failed.to.value), static_cast<double>(tried.size() + 1)}});
  }

  double Bandwidth(const Worker& w) const {
    if (w.fetched_bytes < kMeasuredBytes || w.fetch_us == 0) return bandwidth_;
    return static_cast<double>(w.fetched_bytes) * 1e6 / static_cast<double>(w.fetch_us);
  }

  // Returns a worker of the same rack that loses less, in turn one of the next few; null if there is none.
  const Worker* PlaceFor(const State& state, const Worker& from, const Task& task, uint32_t turn,
                         const std::set<WorkerId>& but = {}) const {
    const auto& workers = state.workers();
    std::vector<const Worker*> places;
    auto it = workers.upper_bound(from.id);
    for (int seen = 0; seen < kWorkersSeen && places.size() < kPlaces; ++seen, ++it) {
      if (it == workers.end()) it = workers.begin();
      const Worker& w = it->second;
      if (w.id == from.id) break;
      if (!w.alive || w.draining || w.rack != from.rack || but.contains(w.id)) continue;
      const bool holds =
          std::any_of(task.replicas.begin(), task.replicas.end(), [&](const auto& c) { return c.worker == w.id; });
      if (!holds && (always_ || LossRate(state, w) < LossRate(state, from))) places.push_back(&w);
    }
    return places.empty() ? nullptr : places[turn % places.size()];
  }

  const double budget_, bandwidth_;
  const bool always_;
};

}  // namespace

double LossRate(const State& state, const Worker& w) {
  if (state.outputs_made() == 0) return 0;
  const double cluster = static_cast<double>(state.outputs_lost()) / static_cast<double>(state.outputs_made());
  const double lost = static_cast<double>(w.outputs_lost) + kPriorOutputs * cluster;
  return std::min(1.0, lost / (static_cast<double>(w.outputs_made) + kPriorOutputs));
}

Result<std::unique_ptr<Policy>> MakeMantriReplication(PolicyParams* params) {
  MR_ASSIGN_OR_RETURN(const double budget, params->Number("budget", 0.1, 0, 1));
  MR_ASSIGN_OR_RETURN(const double bandwidth, params->Number("bandwidth", 125e6, 1, 1e12));
  MR_ASSIGN_OR_RETURN(const bool always, params->Flag("always", false));
  return std::unique_ptr<Policy>(std::make_unique<MantriReplication>(budget, bandwidth, always));
}

}  // namespace mr::sched
