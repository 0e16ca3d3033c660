#include "master/sched/policies/dolly/opportunistic.h"

#include <optional>

#include "master/sched/job_graph.h"
#include "master/sched/policies/baselines/emptier_workers.h"
#include "master/sched/policies/common/figures.h"
#include "master/sched/policies/common/lent_slots.h"
#include "master/sched/policies/common/place.h"
#include "master/sched/policies/dolly/idle_stages.h"
#include "master/sched/policies/dolly/reads_clones.h"
#include "master/sched/policies/dolly/reasons.h"

namespace mr::sched {

namespace {

// Waiting stages examined per offer. A guess: with more, the cluster is busy.
constexpr size_t kStagesSeen = 64;

// Returns whether a waiting task could use this worker's free slot, even if a policy holds it back.
bool AnyWaitsFor(const State& state, const SlotOffer& offer) {
  const Worker& worker = *state.FindWorker(offer.worker);
  for (const SlotKind kind : kSlotKinds) {
    if (state.free(kind).count(offer.worker) == 0) continue;
    for (const bool ready : {true, false}) {
      const std::set<StageKey>& stages = ready ? state.ready(kind) : state.early(kind);
      if (stages.size() > kStagesSeen) return true;
      for (const StageKey& key : stages) {
        if (state.QueueFull(*state.FindJob(key.stage.job), kind)) continue;
        if (!state.Room(worker, worker.used, kind, state.Spec(key.stage).memory_bytes)) continue;
        if (ready ? ChooseReady(state, key.stage, offer) : ChooseEarly(state, key.stage, offer)) return true;
      }
    }
  }
  return false;
}

class Opportunistic final : public Policy {
 public:
  Opportunistic(uint32_t attempts, size_t tasks, double fill, const IdleLimits& limits)
      : attempts_(attempts), tasks_(tasks), limits_(limits), stages_(attempts, tasks, limits), workers_(fill) {}
  std::string_view name() const override { return "opportunistic"; }
  // scores: for by_score, the index of attempts that run alone or beside clones on lent slots.
  void AddNeeds(Needs* needs) const override { needs->statistics |= StatisticsWanted{.any = true, .scores = true}; }

  void Refine(const Trigger& trigger, const View& view, Rng&, Plan& plan) const override {
    const auto* offer = std::get_if<SlotOffer>(&trigger);
    if (offer != nullptr && offer->idle && plan.passed().empty()) Lend(*offer, view, &plan);
    if (const auto* ended = std::get_if<JobsEnded>(&trigger)) {
      limits_.worth.Learn(view, ended->jobs, &plan);
      limits_.credit.Learn(view, ended->jobs, &plan);
      limits_.network.Learn(view, ended->jobs, &plan);
    }
  }

  bool Seeks(const View& view, SlotKind kind) const override {
    size_t position = 0;
    return stages_.NextWithAny(view, kind, &position) != nullptr;
  }

  std::optional<Reason> WhyAlone(const View& view, const AttemptId& id) const override {
    const State& state = view.state();
    const Stage& stage = *state.FindStage(id.task.stage_id());
    const Task& task = stage.tasks[id.task.task];
    const Job& job = *state.FindJob(id.task.job);
    const StageSpec& spec = job.graph.stages[id.task.stage];
    if (task.live > 1 || task.wanted > 1 || spec.side_effects || state.Waiting(id)) return std::nullopt;
    if (stage.tasks.size() > tasks_)
      return Reason{DollyReason::kNotSmall, "", {double(stage.tasks.size()), double(tasks_)}};
    if (MayDiffer(job, id.task.stage)) return Reason{DollyReason::kRandomOperator, "", {}};
    if (TimesFailed(task) >= kFailuresOfCloned)
      return Reason{DollyReason::kFailedTwice, "", {double(TimesFailed(task))}};
    if (auto why = limits_.WhyNot(view, stage.tasks.size())) return why;
    if (auto why = limits_.network.WhyNotCopy(view, job, id.task.stage)) return why;
    if (QueueKeepsClonesOut(state, job, spec.slot_kind)) {
      return Reason{
          DollyReason::kQueueFull, "", {double(HeldInQueue(state, *job.in_queue)), double(job.in_queue->max_share)}};
    }
    return Reason{DollyReason::kNoIdleSlot, "", {double(state.free(spec.slot_kind).size())}};
  }

  std::vector<Figure> Figures(const View& view) const override {
    return {{kLentFigure, "", static_cast<double>(view.state().lent().size())}};
  }

 private:
  // Returns whether with a clone here too few workers would have room for speculation (place.h) on slow attempts that
  // this policy does not serve. A speculative attempt does not bring a lent slot back.
  bool KeepsSpeculationOut(const View& view, const Worker& worker, const StageSpec& clone) const {
    const State& state = view.state();
    SlotUse after = worker.used;
    ++after.slots[KindIndex(clone.slot_kind)];
    for (const SlotKind kind : kSlotKinds) {
      if (state.free(kind).count(worker.id) == 0 || state.Room(worker, after, kind, 0)) continue;
      if (state.free(kind).size() > KeptForSpeculation(state)) continue;
      size_t n = 0;
      for (const StageKey& key : state.speculable(kind)) {
        const Job& job = *state.FindJob(key.stage.job);
        if (++n > kStagesSeen) return true;
        if (job.list == nullptr || !job.list->statistics.speculation) continue;
        if (!view.Serves(job) || !stages_.Serves(view, job, key.stage.stage, kind)) return true;
      }
    }
    return false;
  }

  bool Fits(const State& state, const IdleStage& seen, const Task& task, const Worker& worker) const {
    return !State::LiveOn(task, worker.id) && state.TimesFailedOn(task, worker) == 0 &&
           !workers_.AnyFor(state, seen.spec(), task, worker);
  }

  void Lend(const SlotOffer& offer, const View& view, Plan* plan) const {
    if (plan->Launches()) return;
    const State& state = view.state();
    const Worker& worker = *state.FindWorker(offer.worker);
    if (!workers_.IdleEnough(worker)) return;
    for (uint32_t live = 1; live < attempts_; ++live) {
      for (const SlotKind kind : kSlotKinds) {
        if (!worker.is_free[KindIndex(kind)]) continue;
        size_t position = 0;
        while (IdleStage* seen = stages_.NextWithAny(view, kind, &position)) {
          if (!seen->any[live]) continue;
          const auto task =
              stages_.Pick(state, *seen, live, [&](const Task& t) { return Fits(state, *seen, t, worker); });
          if (!task || KeepsSpeculationOut(view, worker, seen->spec())) continue;
          if (AnyWaitsFor(state, offer)) return;
          const double free = worker.slots.total - worker.used_total();
          const TaskId id{seen->id().job, seen->id().stage, *task};
          if (!plan->Launch(id, worker.id, Cause::kOpportunistic, {DollyReason::kIdleSlot, "", {double(live), free}}))
            continue;
          if (ReadsClones(*seen->job, id.stage, seen->stage->tasks[id.task])) plan->ReadByBind(id);
          seen->looked = false;
          return;
        }
      }
    }
  }

  const uint32_t attempts_;
  const size_t tasks_;
  const IdleLimits limits_;
  // Caches. They change no decision.
  mutable IdleStages stages_;
  mutable EmptierWorkers workers_;
};

}  // namespace

Result<std::unique_ptr<Policy>> MakeOpportunistic(PolicyParams* params) {
  MR_ASSIGN_OR_RETURN(const double attempts, params->Number("attempts", 2, 2, kMostRunning));
  MR_ASSIGN_OR_RETURN(const double tasks, params->Number("tasks", 50, 1, 1e6));
  MR_ASSIGN_OR_RETURN(const double fill, params->Number("fill", 0.5, 0, 1));
  MR_ASSIGN_OR_RETURN(const double worth, params->Number("worth", 0, 0, 100));
  MR_ASSIGN_OR_RETURN(const double share, params->Number("share", 0, 0, 1));
  MR_ASSIGN_OR_RETURN(const bool network, params->Flag("network", false));
  return std::unique_ptr<Policy>(std::make_unique<Opportunistic>(
      static_cast<uint32_t>(attempts), static_cast<size_t>(tasks), fill,
      IdleLimits{IdleWorth(worth), CloneCredit(share, Cause::kOpportunistic, 0), NetworkBound(network)}));
}

}  // namespace mr::sched
