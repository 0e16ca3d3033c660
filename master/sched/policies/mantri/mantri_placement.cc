#include "master/sched/policies/mantri/mantri_placement.h"

#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include "master/sched/policies/mantri/rack_shares.h"

namespace mr::sched {

namespace {

constexpr char kOfStages[] = "stages";  // facts: by job; names end in the stage
constexpr char kBasis[] = "basis/", kQuota[] = "quota/";
// Names of the facts that store when launches were first and last held back: with all inputs, and before that.
struct Held {
  const char *since, *last;
};
constexpr Held kReady = {"since/", "last/"}, kEarly = {"early_since/", "early_last/"};

// Calls f for each upstream stage that this one reads as a whole, by partitions.
template <class F>
void EachShuffled(const Job& job, uint32_t stage, F&& f) {
  const auto& inputs = job.graph.stages[stage].inputs;
  uint64_t full = 0;
  for (const TaskClass& c : job.stages[stage].classes) full |= c.full_inputs;
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].is_edge && inputs[i].edge == EdgeKind::kAllToAll && (full >> i & 1) != 0)
      f(job.stages[inputs[i].upstream]);
  }
}

// Returns how much is known of a stage's input: twice the upstream tasks that began, plus one if all have committed.
int64_t BasisOf(const Job& job, uint32_t stage) {
  int64_t began = 0;
  bool complete = true;
  EachShuffled(job, stage, [&](const Stage& up) {
    began += static_cast<int64_t>(up.begun_in_racks);
    complete = complete && up.complete();
  });
  return 2 * began + (complete ? 1 : 0);
}

// By rack: bytes that upstream tasks made or will make, and how many of these tasks run.
struct Input {
  std::map<std::string, double> bytes;
  std::map<std::string, uint32_t> running;
};

Input InputOf(const State& state, const Job& job, uint32_t stage) {
  Input input;
  EachShuffled(job, stage, [&](const Stage& up) {
    double bytes = 0, outputs = 0;
    for (const RackShare& rack : up.racks) {
      bytes += static_cast<double>(rack.bytes);
      outputs += rack.outputs;
    }
    const double mean = bytes > 0 ? bytes / outputs : 1;
    for (uint32_t number = 0; number < up.racks.size(); ++number) {
      const RackShare& rack = up.racks[number];
      if (rack == RackShare{}) continue;
      const std::string& name = state.RackName(number);
      const uint32_t running = rack.attempts - std::min(rack.attempts, rack.outputs);
      const double here = static_cast<double>(rack.bytes) + mean * running;
      if (here > 0) input.bytes[name] += here;
      input.running[name] += running;
    }
  });
  return input;
}

class MantriPlacement final : public Policy {
 public:
  MantriPlacement(Duration wait, Duration early_wait) : wait_(wait), early_wait_(early_wait) {}

  std::string_view name() const override { return "mantri_placement"; }
  void AddNeeds(Needs* needs) const override { needs->sharing.by_rack = true; }

  void Refine(const Trigger& trigger, const View& view, Rng&, Plan& plan) const override {
    if (const auto* ended = std::get_if<JobsEnded>(&trigger)) {
      for (const JobId job : ended->jobs) {
        plan.ForgetAll(kOfStages, FactId(job));
        known_.erase(known_.lower_bound({job, 0}), known_.upper_bound({job, ~uint32_t{0}}));
      }
    }
    if (!std::holds_alternative<SlotOffer>(trigger)) return;
    std::vector<std::pair<TaskId, WorkerId>> launches;
    for (const Edit& edit : plan.edits()) {
      const auto* launch = std::get_if<Launch>(&edit);
      if (launch == nullptr || launch->cause != Cause::kFirst) continue;
      launches.emplace_back(launch->attempt.task, launch->worker);
    }
    for (const auto& [task, worker] : launches) Judge(task, worker, view, &plan);
  }

 private:
  // Cache of a stage's facts, with those of this plan: thousands of offers read them.
  struct Known {
    std::optional<int64_t> basis;
    std::array<std::optional<int64_t>, 2> since, last;  // early, ready
    std::vector<std::optional<int64_t>> quotas;         // by rack number, as far as asked for
  };

  Known& KnownOf(const View& view, const StageId& id) const {
    const auto [it, added] = known_.try_emplace(id);
    Known& known = it->second;
    if (!added) return known;
    const std::string stage = std::to_string(id.stage);
    known.basis = Fact(view, id.job, kBasis + stage);
    for (const bool ready : {false, true}) {
      known.since[ready] = Fact(view, id.job, (ready ? kReady : kEarly).since + stage);
      known.last[ready] = Fact(view, id.job, (ready ? kReady : kEarly).last + stage);
    }
    return known;
  }

  static std::optional<int64_t> Fact(const View& view, JobId job, const std::string& what) {
    const FactValue* fact = view.FindFact(kOfStages, FactId(job), what);
    if (fact == nullptr) return std::nullopt;
    return std::get<int64_t>(*fact);
  }

  void Judge(const TaskId& id, WorkerId worker, const View& view, Plan* plan) const {
    const State& state = view.state();
    const Job& job = *state.FindJob(id.job);
    if (!view.Serves(job)) return;
    bool shuffles = false;
    for (const StageInput& in : job.graph.stages[id.stage].inputs) {
      shuffles = shuffles || (in.is_edge && in.edge == EdgeKind::kAllToAll && job.stages[in.upstream].racks_used > 1);
    }
    if (!shuffles) return;
    const uint32_t rack = state.FindWorker(worker)->rack_number;
    const int64_t has = job.stages[id.stage].InRack(rack).attempts;
    if (has < QuotaOf(view, job, id.stage, rack, plan)) return;
    if (MayHoldBack(view, id, plan)) plan->PassOver(id.job);
  }

  // Returns how many tasks of this stage the rack should have.
  int64_t QuotaOf(const View& view, const Job& job, uint32_t s, uint32_t rack, Plan* plan) const {
    const State& state = view.state();
    const int64_t basis = BasisOf(job, s);
    Known& known = KnownOf(view, {job.id, s});
    const std::optional<int64_t> before = known.basis;
    const bool stale = !before || *before % 2 != basis % 2 || basis / 2 > *before / 2 + *before / 16;
    known.quotas.resize(state.racks().size());
    const std::string stage = std::to_string(s);
    if (!stale) {
      std::optional<int64_t>& quota = known.quotas[rack];
      if (!quota) quota = Fact(view, job.id, kQuota + stage + "/" + state.RackName(rack)).value_or(0);
      return *quota;
    }
    const Input input = InputOf(state, job, s);
    const auto n = static_cast<uint32_t>(job.stages[s].tasks.size());
    if (input.bytes.size() < 2) return n;
    plan->Remember(kOfStages, FactId(job.id), kBasis + stage, basis);
    known.basis = basis;
    known.quotas.assign(state.racks().size(), std::nullopt);  // racks that are not set now keep their facts
    int64_t quota = 0;
    for (const auto& [name, tasks] : Quotas(state, job, s, input, n)) {
      plan->Remember(kOfStages, FactId(job.id), kQuota + stage + "/" + name, int64_t{tasks});
      if (name == state.RackName(rack)) known.quotas[rack] = quota = tasks;
    }
    return quota;
  }

  static std::map<std::string, uint32_t> Quotas(const State& state, const Job& job, uint32_t s, const Input& input,
                                                uint32_t n) {
    const size_t kind = KindIndex(job.graph.stages[s].slot_kind);
    std::map<std::string, RackLoad> racks;
    for (const auto& [name, bytes] : input.bytes) racks[name] = {bytes, 1, 1, 0};
    double room = 0, slots = 0;
    std::map<std::string, uint32_t> numbers;
    for (uint32_t number = 0; number < state.racks().size(); ++number) {
      const RackSlots& rack = state.racks()[number];
      if (rack == RackSlots{}) continue;
      const std::string& name = state.RackName(number);
      numbers.emplace(name, number);
      RackLoad& load = racks.try_emplace(name, RackLoad{0, 1, 1, 0}).first->second;
      const auto ahead = input.running.find(name);
      load.most = rack.free[kind] + (ahead == input.running.end() ? 0 : ahead->second);
      load.most = std::min<double>(load.most, rack.slots[kind]) + job.stages[s].InRack(number).attempts;
      room += load.most;
      slots += rack.slots[kind];
    }
    std::vector<RackLoad> loads;
    for (auto& [name, load] : racks) {
      const auto rack = numbers.find(name);
      if (room < n && rack != numbers.end()) {
        load.most = std::max(load.most, std::ceil(n * state.racks()[rack->second].slots[kind] / slots));
      }
      load.most = std::min(1.0, load.most / n);
      loads.push_back(load);
    }
    const std::vector<uint32_t> tasks = WholeTasks(loads, BestShares(loads), n);
    std::map<std::string, uint32_t> quotas;
    for (const auto& [name, load] : racks) quotas.emplace(name, tasks[quotas.size()]);
    return quotas;
  }

  bool MayHoldBack(const View& view, const TaskId& id, Plan* plan) const {
    const State& state = view.state();
    const bool ready = state.InputsComplete(*state.FindJob(id.job), id.stage, *state.FindTask(id));
    const Held held = ready ? kReady : kEarly;
    Known& known = KnownOf(view, id.stage_id());
    const int64_t wait = (ready ? wait_ : early_wait_).ns;
    const std::string stage = std::to_string(id.stage);
    const int64_t now = view.now().ns, period = state.config().offer_period.ns;
    std::optional<int64_t>& last = known.last[ready];
    std::optional<int64_t>& since = known.since[ready];
    if (!since || (last && now > *last + wait + period)) {
      since = now;
      plan->Remember(kOfStages, FactId(id.job), held.since + stage, now);
    }
    // Once per offer period, so that not every offer writes a fact.
    if (!last || now >= *last + period) {
      last = now;
      plan->Remember(kOfStages, FactId(id.job), held.last + stage, now);
    }
    return now < *since + wait;
  }

  const Duration wait_, early_wait_;
  mutable std::map<StageId, Known> known_;  // a cache
};

}  // namespace

Result<std::unique_ptr<Policy>> MakeMantriPlacement(PolicyParams* params) {
  MR_ASSIGN_OR_RETURN(const Duration wait, params->Time("wait", Seconds(3)));
  MR_ASSIGN_OR_RETURN(const Duration early_wait, params->Time("early_wait", Seconds(10)));
  return std::unique_ptr<Policy>(std::make_unique<MantriPlacement>(wait, early_wait));
}

}  // namespace mr::sched
