#include "master/sched/policies/coupling/coupling.h"

#include <algorithm>

#include "common/base/digest.h"
#include "master/sched/policies/common/place.h"
#include "master/sched/policies/coupling/centrality.h"
#include "master/sched/policies/coupling/coupling_rules.h"
#include "master/sched/policies/coupling/peek.h"
#include "master/sched/policies/coupling/wait_scheduling.h"

namespace mr::sched {

namespace {

struct Options {
  WaitRules wait;
  double beta = -1;  // below 0: by load
  size_t peek = 0;
};

// The least p: workers with the input may never have room for it. A guess: some tens of offers.
constexpr double kLeastChance = .02;
// Jobs examined per map that is placed while reduces lack slots. A guess.
constexpr size_t kJobsBeforeMap = 16;
// Algorithm 3: rack-local while a reduce of the job runs here, rack-local, other.
constexpr double kAlphaRackBusy = .7, kAlphaRack = .8, kAlphaFar = 1;

class Coupling final : public Policy {
 public:
  explicit Coupling(Options options) : options_(options) {}
  std::string_view name() const override { return "coupling"; }
  // No slow start: this policy decides when a reduce starts.
  void AddNeeds(Needs* needs) const override { needs->sharing.slow_start = 0; }

  void Refine(const Trigger& trigger, const View& view, Rng& rng, Plan& plan) const override {
    if (const auto* ended = std::get_if<JobsEnded>(&trigger)) return ForgetCandidates(view, ended->jobs, &plan);
    const auto* offer = std::get_if<SlotOffer>(&trigger);
    if (offer == nullptr) return;
    const Launch* drafted = nullptr;
    for (const Edit& edit : plan.edits()) {
      if (const auto* launch = std::get_if<Launch>(&edit)) drafted = launch;
    }
    if (drafted == nullptr || drafted->cause != Cause::kFirst) return;
    const TaskId task = drafted->attempt.task;
    const StageSpec& spec = view.state().Spec(task.stage_id());
    const Launch again = *drafted;
    const Job& job = *view.state().FindJob(task.job);
    if (BelowGuarantee(job)) return;  // others were evicted for its guarantee
    const Queue& queue = *job.in_queue;
    if (!ReadsStages(spec)) {
      if (!DueReduceFirst(*offer, again, view, queue, rng, &plan)) Peek(*offer, task, view, rng, &plan);
      return;
    }
    plan.Withdraw(task);
    if (LaunchDueReduce(*offer, view, queue, spec.slot_kind, options_.wait, rng, &plan)) return;
    if (LaunchMaps(*offer, view.state(), task.job, &plan)) return;
    // PassOver needs a drafted launch of the job.
    plan.Launch(task, again.worker, again.cause, again.reason);
    plan.PassOver(task.job);
  }

 private:
  // Launches a due reduce in the place of this map.
  bool DueReduceFirst(const SlotOffer& offer, const Launch& map, const View& view, const Queue& queue, Rng& rng,
                      Plan* plan) const {
    const State& state = view.state();
    const size_t kind = KindIndex(SlotKind::kReduce);
    if (offer.local_only || (!queue.has_ready(kind) && !queue.has_early(kind)) ||
        state.free(SlotKind::kReduce).count(offer.worker) == 0 ||
        !ReducesLackSlots(state, *state.FindWorker(offer.worker), options_.wait.least)) {
      return false;
    }
    plan->Withdraw(map.attempt.task);
    WaitRules rules = options_.wait;
    rules.jobs_seen = kJobsBeforeMap;
    if (LaunchDueReduce(offer, view, queue, SlotKind::kReduce, rules, rng, plan)) return true;
    plan->Launch(map.attempt.task, map.worker, map.cause, map.reason);
    return false;
  }

  // Launches a map of this job, which reads files, on the slot that the job's reduce does not get.
  static bool LaunchMaps(const SlotOffer& offer, const State& state, JobId id, Plan* plan) {
    const Job& job = *state.FindJob(id);
    for (uint32_t s = 0; s < job.stages.size(); ++s) {
      const StageSpec& spec = job.graph.stages[s];
      if (!job.stages[s].in_ready || ReadsStages(spec) || state.free(spec.slot_kind).count(offer.worker) == 0) continue;
      if (LaunchOf(state, {id, s}, offer, &ChooseReady, plan)) return true;
    }
    return false;
  }

  void Peek(const SlotOffer& offer, const TaskId& id, const View& view, Rng& rng, Plan* plan) const {
    const State& state = view.state();
    const Task& task = *state.FindTask(id);
    const Worker& w = *state.FindWorker(offer.worker);
    bool rack = false, any = false;
    for (const WorkerId holder : task.plan.preferred) {
      if (holder == w.id) return;
      const Worker* other = state.FindWorker(holder);
      if (other == nullptr || !other->alive || other->draining) continue;
      any = true;
      rack = rack || other->rack == w.rack;
    }
    if (!any) return;
    const Job& job = *state.FindJob(id.job);
    const Peeked seen = PeekAtWorkers(state, job, options_.peek, rng);
    double pending = 0;
    for (uint32_t s = 0; s < job.stages.size(); ++s) {
      if (!ReadsStages(job.graph.stages[s])) pending += job.stages[s].pending;
    }
    const double beta = options_.beta >= 0 ? options_.beta : PeekBeta(pending, seen.free);
    const double alpha = !rack ? kAlphaFar : RunsReader(job, w) ? kAlphaRackBusy : kAlphaRack;
    // One draw per job that is considered at this offer.
    Rng own(MixHash(rng.Next(), job.arrival));
    const double p = std::max(kLeastChance, PeekChance(alpha, beta, seen.share, seen.free));
    if (own.Uniform() >= p) plan->PassOver(id.job);
  }

  const Options options_;
};

}  // namespace

Result<std::unique_ptr<Policy>> MakeCoupling(PolicyParams* params) {
  Options o;
  MR_ASSIGN_OR_RETURN(o.wait.threshold, params->Number("threshold", 3, .01, 1e6));
  MR_ASSIGN_OR_RETURN(o.beta, params->Number("beta", -1, -1, 10));
  MR_ASSIGN_OR_RETURN(const double peek, params->Number("peek", 64, 1, 1e6));
  MR_ASSIGN_OR_RETURN(const size_t clock, params->Choice("clock", {"offer", "paper"}));
  // Guesses. A third of the paper's slots is for reduces only.
  MR_ASSIGN_OR_RETURN(o.wait.least.maps, params->Number("min_maps", clock == 0 ? .2 : 0, 0, 1));
  MR_ASSIGN_OR_RETURN(o.wait.least.reduces, params->Number("min_reduces", clock == 0 ? .1 : 0, 0, 1));
  o.peek = static_cast<size_t>(peek);
  o.wait.at_once = clock == 0;
  return std::unique_ptr<Policy>(std::make_unique<Coupling>(o));
}

}  // namespace mr::sched
