#include "master/sched/policies/opportunistic.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "master/sched/hopeful.h"
#include "master/sched/job_graph.h"
#include "master/sched/policies/blacklist.h"
#include "master/sched/policies/figures.h"
#include "master/sched/policies/lent_slots.h"
#include "master/sched/policies/place.h"
#include "master/sched/policies/reads_clones.h"

namespace mr::sched {

namespace {

constexpr SlotKind kKinds[] = {SlotKind::kMap, SlotKind::kReduce};
// Stages that wait, and workers with a free slot, that are looked at for one offer. A guess: more is a busy cluster.
constexpr size_t kStagesSeen = 64, kWorkersSeen = 256;

// Its queue holds all that it may; or would with a clone, which would have to go at once for what waits of it.
bool QueueKeepsClonesOut(const State& state, const Job& job, SlotKind kind) {
  if (state.QueueFull(job, kind)) return true;
  const Queue& q = *job.in_queue;
  if (!state.sharing().max_shares || q.max_share == 0 || !CountsInQueue(state, kind)) return false;
  const uint32_t held = HeldInQueue(state, q);
  return held + 1 >= q.max_share && (q.has_ready() || !q.early[0].empty() || !q.early[1].empty());
}

// Something that waits could take this worker's free slot, whatever policy keeps it from it.
bool AnyWaitsFor(const State& state, const SlotOffer& offer) {
  const Worker& worker = *state.FindWorker(offer.worker);
  for (const SlotKind kind : kKinds) {
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
  Opportunistic(uint32_t attempts, size_t tasks, double fill) : attempts_(attempts), tasks_(tasks), fill_(fill) {}
  std::string_view name() const override { return "opportunistic"; }
  // by_score: the index of what runs alone, or beside clones on lent slots.
  StatisticsWanted WantsStatistics() const override { return {.any = true, .scores = true}; }

  void Refine(const Trigger& trigger, const View& view, Rng&, Plan& plan) const override {
    const auto* offer = std::get_if<SlotOffer>(&trigger);
    if (offer != nullptr && offer->idle && plan.passed().empty()) Lend(*offer, view, &plan);
  }

  bool Seeks(const View& view, SlotKind kind) const override {
    return WithAny(view, kind, 0) != nullptr;
  }

  std::optional<Reason> WhyAlone(const View& view, const AttemptId& id) const override {
    const State& state = view.state();
    const Stage& stage = *state.FindStage(id.task.stage_id());
    const Task& task = stage.tasks[id.task.task];
    const Job& job = *state.FindJob(id.task.job);
    const StageSpec& spec = job.graph.stages[id.task.stage];
    if (task.live > 1 || task.wanted > 1 || spec.side_effects || state.Waiting(id)) return std::nullopt;
    if (stage.tasks.size() > tasks_) return Reason{ReasonCode::kNotSmall, "", {double(stage.tasks.size()), double(tasks_)}};
    if (MayDiffer(job, id.task.stage)) return Reason{ReasonCode::kRandomOperator, "", {}};
    if (TimesFailed(task) >= kFailuresOfCloned) return Reason{ReasonCode::kFailedTwice, "", {double(TimesFailed(task))}};
    if (QueueKeepsClonesOut(state, job, spec.slot_kind)) {
      return Reason{ReasonCode::kQueueFull, "", {double(HeldInQueue(state, *job.in_queue)), double(job.in_queue->max_share)}};
    }
    return Reason{ReasonCode::kNoIdleSlot, "", {double(state.free(spec.slot_kind).size())}};
  }

  std::vector<Figure> Figures(const View& view) const override {
    return {{kLentFigure, "", static_cast<double>(view.state().lent().size())}};
  }

 private:
  struct Seen {
    const Job* job = nullptr;
    const Stage* stage = nullptr;
    StageId id;
    uint64_t changes = 0;
    bool looked = false;
    std::array<bool, kMostRunning> any{};  // by how many attempts the task has
    bool any_of() const { return std::find(any.begin(), any.end(), true) != any.end(); }
  };

  // Among the first kWorkersSeen free ones, those that may take clones, with the least on them first.
  struct Emptier {
    uint64_t folds = ~uint64_t{0};
    std::vector<const Worker*> workers;
  };

  bool Serves(const Job& job, uint32_t stage, SlotKind kind) const {
    const StageSpec& spec = job.graph.stages[stage];
    const Stage& s = job.stages[stage];
    return spec.slot_kind == kind && s.tasks.size() <= tasks_ && !spec.side_effects && !MayDiffer(job, stage);
  }

  std::vector<Seen>& SeenBy(const View& view, SlotKind kind) const {
    const State& state = view.state();
    std::vector<Seen>& stages = seen_[KindIndex(kind)];
    if (round_[KindIndex(kind)] == state.idle_rounds()) return stages;
    round_[KindIndex(kind)] = state.idle_rounds();
    stages.clear();
    for (const StageKey& key : view.speculable(kind)) {
      const Job& job = *state.FindJob(key.stage.job);
      if (Serves(job, key.stage.stage, kind)) stages.push_back({&job, &job.stages[key.stage.stage], key.stage});
    }
    return stages;
  }

  // Of these stages the i-th that has something for any worker; null: there are fewer.
  Seen* WithAny(const View& view, SlotKind kind, size_t i) const {
    const auto has_any = [&](Seen* seen) { return HasAny(view, seen); };
    return hopeful_[KindIndex(kind)].At(view.state(), SeenBy(view, kind), i, has_any);
  }

  bool HasAny(const View& view, Seen* seen) const {
    if (!seen->looked || seen->changes != seen->stage->statistics.changes) {
      view.state().Look();
      seen->looked = true;
      seen->changes = seen->stage->statistics.changes;
      for (uint32_t live = 1; live < attempts_; ++live) seen->any[live] = Pick(view, *seen, live, nullptr).has_value();
    }
    return seen->any_of() && !QueueKeepsClonesOut(view.state(), *seen->job, seen->job->graph.stages[seen->id.stage].slot_kind);
  }

  // A task that has so many attempts, none of them a copy; the least advanced first.
  std::optional<uint32_t> Pick(const View& view, const Seen& seen, uint32_t live, const Worker* worker) const {
    std::optional<uint32_t> picked;
    const auto good = [&](uint32_t t) {
      const Task& task = seen.stage->tasks[t];
      if (task.live != live || TimesFailed(task) >= kFailuresOfCloned) return false;
      if (!view.state().InputsComplete(*seen.job, seen.id.stage, task)) return false;
      if (worker == nullptr) return true;
      return !State::LiveOn(task, worker->id) && view.state().TimesFailedOn(task, *worker) == 0 &&
             !EmptierWorker(view.state(), seen, task, *worker);
    };
    seen.stage->statistics.by_score.Walk(tasks_, [&](const auto& entry) {
      if (good(entry.second.first)) picked = entry.second.first;
      return !picked;
    });
    return picked;
  }

  // With a clone there a worker is not more in use than it may be.
  bool IdleEnough(const Worker& w) const {
    return w.used_total() == 0 || w.used_total() + 1 <= fill_ * w.slots.total;
  }

  // Slow attempts that it does not serve may get copies, and with a clone there fewer workers than are kept for those
  // (place.h) would have room for one: a copy does not bring a lent slot back.
  bool KeepsCopiesOut(const View& view, const Worker& worker, const StageSpec& clone) const {
    const State& state = view.state();
    SlotUse after = worker.used;
    ++after.slots[KindIndex(clone.slot_kind)];
    for (const SlotKind kind : kKinds) {
      if (state.free(kind).count(worker.id) == 0 || state.Room(worker, after, kind, 0)) continue;
      if (state.free(kind).size() > KeptForCopies(state)) continue;
      size_t n = 0;
      for (const StageKey& key : state.speculable(kind)) {
        const Job& job = *state.FindJob(key.stage.job);
        if (++n > kStagesSeen) return true;
        if (job.list == nullptr || !job.list->statistics.copies) continue;
        if (!view.Serves(job) || !Serves(job, key.stage.stage, kind)) return true;
      }
    }
    return false;
  }

  // What runs there shares a machine with the clone: one with less on it is better for both, if it takes the clone.
  bool EmptierWorker(const State& state, const Seen& seen, const Task& task, const Worker& worker) const {
    const StageSpec& spec = seen.job->graph.stages[seen.id.stage];
    for (const Worker* other : EmptiestFirst(state, spec.slot_kind)) {
      if (other->used_total() >= worker.used_total()) return false;
      if (State::LiveOn(task, other->id) || !state.Room(*other, other->used, spec.slot_kind, spec.memory_bytes)) continue;
      if (state.TimesFailedOn(task, *other) == 0) return true;
    }
    return false;
  }

  const std::vector<const Worker*>& EmptiestFirst(const State& state, SlotKind kind) const {
    Emptier& emptier = emptier_[KindIndex(kind)];
    if (emptier.folds == state.folds()) return emptier.workers;
    emptier.folds = state.folds();
    emptier.workers.clear();
    const bool listed = AnyListed(state);
    size_t n = 0;
    for (auto it = state.free(kind).begin(); it != state.free(kind).end() && n < kWorkersSeen; ++it, ++n) {
      const Worker& w = *state.FindWorker(*it);
      if (IdleEnough(w) && !(listed && IsListed(state, w.id))) emptier.workers.push_back(&w);
    }
    std::stable_sort(emptier.workers.begin(), emptier.workers.end(),
                     [](const Worker* a, const Worker* b) { return a->used_total() < b->used_total(); });
    return emptier.workers;
  }

  void Lend(const SlotOffer& offer, const View& view, Plan* plan) const {
    const auto launches = [](const Edit& e) { return std::holds_alternative<Launch>(e); };
    if (std::any_of(plan->edits().begin(), plan->edits().end(), launches)) return;
    const State& state = view.state();
    const Worker& worker = *state.FindWorker(offer.worker);
    if (!IdleEnough(worker)) return;
    for (uint32_t live = 1; live < attempts_; ++live) {
      for (const SlotKind kind : kKinds) {
        if (state.free(kind).count(worker.id) == 0) continue;
        Seen* each = nullptr;
        for (size_t i = 0; (each = WithAny(view, kind, i)) != nullptr; ++i) {
          Seen& seen = *each;
          if (!seen.any[live]) continue;
          const auto task = Pick(view, seen, live, &worker);
          if (!task) continue;
          if (KeepsCopiesOut(view, worker, seen.job->graph.stages[seen.id.stage])) continue;
          if (AnyWaitsFor(state, offer)) return;
          const double free = worker.slots.total - worker.used_total();
          const TaskId id{seen.id.job, seen.id.stage, *task};
          if (!plan->Launch(id, worker.id, Cause::kOpportunistic, {ReasonCode::kIdleSlot, "", {double(live), free}})) continue;
          if (ReadsClones(*seen.job, id.stage, seen.stage->tasks[id.task])) plan->ReadByBind(id);
          seen.looked = false;
          return;
        }
      }
    }
  }

  const uint32_t attempts_;
  const size_t tasks_;
  const double fill_;
  // What this round of idle offers has: never decides anything else than a look at the state would.
  mutable std::array<std::vector<Seen>, 2> seen_;
  mutable std::array<uint64_t, 2> round_{~uint64_t{0}, ~uint64_t{0}};
  mutable std::array<Hopeful<Seen>, 2> hopeful_;
  mutable std::array<Emptier, 2> emptier_;
};

}  // namespace

Result<std::unique_ptr<Policy>> MakeOpportunistic(PolicyParams* params) {
  MR_ASSIGN_OR_RETURN(const double attempts, params->Number("attempts", 2, 2, kMostRunning));
  MR_ASSIGN_OR_RETURN(const double tasks, params->Number("tasks", 50, 1, 1e6));
  MR_ASSIGN_OR_RETURN(const double fill, params->Number("fill", 0.5, 0, 1));
  return std::unique_ptr<Policy>(
      std::make_unique<Opportunistic>(static_cast<uint32_t>(attempts), static_cast<size_t>(tasks), fill));
}

}  // namespace mr::sched
