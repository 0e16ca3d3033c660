#include "master/sched/policies/coupling/wait_scheduling.h"

#include <algorithm>
#include <array>
#include <vector>

#include "master/sched/policies/common/place.h"
#include "master/sched/policies/coupling/centrality.h"
#include "master/sched/policies/coupling/coupling_rules.h"

namespace mr::sched {

namespace {

constexpr char kWait[] = "wait", kJob[] = "job", kStage[] = "stage", kSince[] = "since", kOffer[] = "offer";
constexpr std::array<size_t, 4> kGroupBegin{0, 1, 3, kNear};

// Stored in place of an instant: the candidate found no place in its fourth period.
constexpr int64_t kDropped = -1;

std::string Near(size_t i) { return "near/" + std::to_string(i); }

struct Candidate {
  StageId stage;
  Instant since;
};

std::optional<Candidate> CandidateOf(const View& view, uint64_t id) {
  if (view.FindFact(kWait, id, kJob) == nullptr) return std::nullopt;
  const JobId job = JobOfFact(static_cast<uint64_t>(view.Number(kWait, id, kJob)));
  return Candidate{{job, static_cast<uint32_t>(view.Number(kWait, id, kStage))},
                   Instant{view.Number(kWait, id, kSince)}};
}

// Returns whether tasks of this stage wait for slots.
bool Waits(const Job& job, uint32_t s) {
  const Stage& stage = job.stages[s];
  return job.running() && stage.pending > 0 && (stage.in_ready || stage.in_early);
}

double MismatchOf(const Job& job, uint32_t s, double threshold) {
  const Stage& stage = job.stages[s];
  StepState step{0, 0, 0, stage.tasks.size(), stage.pending};
  for (const StageInput& input : job.graph.stages[s].inputs) {
    if (!input.is_edge) continue;
    const Stage& up = job.stages[input.upstream];
    step.maps += up.tasks.size();
    step.finished_maps += up.committed;
    step.pending_maps += up.pending;
  }
  if (stage.in_ready) step.pending_maps = 0;  // some task of it has all of its inputs
  return Mismatch(step, threshold);
}

// Returns the stage that is most behind, among jobs of this queue that wait for slots of this kind and are not passed
// over. early: also among jobs without a task that has all its inputs. It examines at most jobs_seen jobs of
// each of the two kinds, in the queue's order. without: this stage is left out.
std::optional<StageId> MostBehind(const SlotOffer& offer, const State& state, const Queue& q, SlotKind kind,
                                  const WaitRules& rules, bool early, const StageId* without, Rng& rng) {
  const Worker& worker = *state.FindWorker(offer.worker);
  std::optional<StageId> best;
  double most = 0;
  uint64_t ties = 0;
  for (const bool ready : {true, false}) {
    if (!ready && !early) break;
    const auto* jobs = ready ? &q.ready[KindIndex(kind)] : &q.early[KindIndex(kind)];
    size_t seen = 0;
    for (auto it = jobs->begin(); it != jobs->end() && seen < rules.jobs_seen; ++it, ++seen) {
      if (offer.passed.count((*it).job) != 0) continue;
      const Job& job = *state.FindJob((*it).job);
      const auto coupled = [&](uint32_t s) {
        const StageSpec& spec = job.graph.stages[s];
        return spec.slot_kind == kind && Waits(job, s) && ReadsStages(spec);
      };
      // A task that waits for inputs would be taken back at once for one of the same job that has them.
      bool any_ready = false;
      for (uint32_t s = 0; s < job.stages.size(); ++s) {
        const bool passed = without != nullptr && *without == StageId{job.id, s};
        any_ready = any_ready || (!passed && job.stages[s].in_ready && coupled(s));
      }
      for (uint32_t s = 0; s < job.stages.size(); ++s) {
        if (!coupled(s) || job.stages[s].in_ready != ready || (any_ready && !ready)) continue;
        if (without != nullptr && *without == StageId{job.id, s}) continue;
        state.Look();
        // Its own maps could have the slot.
        if (!ready && KeepsRoom(state, {job.id, s}, worker)) continue;
        const double m = MismatchOf(job, s, rules.threshold);
        if (m <= 0 || m < most) continue;
        ties = m > most ? 1 : ties + 1;
        most = m;
        if (ties == 1 || rng.Below(ties) == 0) best = StageId{job.id, s};
      }
    }
  }
  return best;
}

void NoteChoice(const View& view, uint64_t fact, const StageId& id, const std::vector<WorkerId>& near, Instant since,
                Plan* plan) {
  plan->ForgetAll(kWait, fact);
  plan->Remember(kWait, fact, kJob, static_cast<int64_t>(FactId(id.job)));
  plan->Remember(kWait, fact, kStage, int64_t{id.stage});
  plan->Remember(kWait, fact, kSince, since.ns);
  plan->Remember(kWait, fact, kOffer, static_cast<int64_t>(view.state().offers()));
  for (size_t i = 0; i < near.size(); ++i) plan->Remember(kWait, fact, Near(i), static_cast<int64_t>(near[i].value));
}

// Returns the group that is served, 1 to 3; 4: any worker.
int64_t PeriodOf(const Candidate& c, const View& view) {
  const Duration period = view.state().config().offer_period;
  const int64_t waited = (view.now() - c.since).ns;
  return std::min<int64_t>(4, waited <= 0 ? 1 : (waited + period.ns - 1) / period.ns);
}

bool LaunchHere(const SlotOffer& offer, const State& state, const StageId& id, bool early, Plan* plan) {
  return LaunchOf(state, id, offer, &ChooseReady, plan) || (early && LaunchOf(state, id, offer, &ChooseEarly, plan));
}

// Launches a task of the candidate if it is the turn of this worker.
bool Serve(const SlotOffer& offer, const View& view, uint64_t fact, const Candidate& c, bool early, Plan* plan) {
  const State& state = view.state();
  const int64_t turn = PeriodOf(c, view);
  if (turn < 4) {
    bool near = false;
    for (size_t i = kGroupBegin[turn - 1]; i < kGroupBegin[turn]; ++i) {
      near = near || static_cast<uint64_t>(view.Number(kWait, fact, Near(i))) == offer.worker.value;
    }
    if (!near || RunsReader(*state.FindJob(c.stage.job), *state.FindWorker(offer.worker))) return false;
  }
  if (LaunchHere(offer, state, c.stage, early, plan)) {
    plan->ForgetAll(kWait, fact);
    return true;
  }
  if (turn == 4) {  // it has no place here: another candidate's turn
    plan->Remember(kWait, fact, kSince, kDropped);
    return false;
  }
  // Refused: on to the next group.
  plan->Remember(kWait, fact, kSince, view.now().ns - turn * state.config().offer_period.ns);
  return false;
}

}  // namespace

bool LaunchDueReduce(const SlotOffer& offer, const View& view, const Queue& queue, SlotKind kind,
                     const WaitRules& rules, Rng& rng, Plan* plan) {
  const State& state = view.state();
  const uint64_t fact = 2 * queue.number + KindIndex(kind);
  const std::optional<Candidate> candidate = CandidateOf(view, fact);
  const Job* of = candidate ? state.FindJob(candidate->stage.job) : nullptr;
  const bool dropped = candidate && candidate->since.ns == kDropped;
  const bool early = MayWait(state, *state.FindWorker(offer.worker), rules.least);
  // A candidate that may not wait on a slot now must not keep a task with inputs from one.
  const bool barred = of != nullptr && !early && !of->stages[candidate->stage.stage].in_ready;
  if (of != nullptr && !dropped && !barred && Waits(*of, candidate->stage.stage)) {
    const bool later = view.Number(kWait, fact, kOffer) != static_cast<int64_t>(state.offers());
    return (later || rules.at_once) && offer.passed.count(of->id) == 0 &&
           Serve(offer, view, fact, *candidate, early, plan);
  }
  // The candidate that had no place comes again only if there is no other.
  std::optional<StageId> chosen;
  if (dropped) chosen = MostBehind(offer, state, queue, kind, rules, early, &candidate->stage, rng);
  if (!chosen) chosen = MostBehind(offer, state, queue, kind, rules, early, nullptr, rng);
  if (!chosen) {
    if (candidate) plan->ForgetAll(kWait, fact);
    return false;
  }
  const std::vector<WorkerId> near = CentralWorkers(state, *chosen, kind, rng);
  if (rules.at_once && (near.empty() || near.front() == offer.worker) &&
      LaunchHere(offer, state, *chosen, early, plan)) {
    if (candidate) plan->ForgetAll(kWait, fact);
    return true;
  }
  // No worker is near: any worker will do.
  const Instant since{view.now().ns - (near.empty() ? 3 * state.config().offer_period.ns : 0)};
  NoteChoice(view, fact, *chosen, near, since, plan);
  return false;
}

void ForgetCandidates(const View& view, const std::vector<JobId>& jobs, Plan* plan) {
  const auto& facts = view.state().facts();
  const std::string owner = view.owner();
  for (auto it = facts.lower_bound({owner, kWait, 0, ""}); it != facts.end(); ++it) {
    const FactKey& key = it->first;
    if (key.policy != owner || key.scope != kWait) return;
    if (key.name != kJob) continue;
    const JobId job = JobOfFact(static_cast<uint64_t>(std::get<int64_t>(it->second)));
    if (std::find(jobs.begin(), jobs.end(), job) != jobs.end()) plan->ForgetAll(kWait, key.id);
  }
}

}  // namespace mr::sched
