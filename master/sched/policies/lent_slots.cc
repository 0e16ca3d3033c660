#include "master/sched/policies/lent_slots.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "master/sched/policies/place.h"

namespace mr::sched {

namespace {

constexpr SlotKind kSlotKinds[] = {SlotKind::kMap, SlotKind::kReduce};
// Tasks of a stage that no lent slot helps, until the stage is left: the others are like them. A guess.
constexpr size_t kMisses = 8;

struct Lent {
  AttemptId id;
  const Attempt* a;
  const Task* task;
  bool ending = false, used = false;
  auto Key() const {
    return std::make_tuple(!ending, task->state != TaskState::kCommitted, ScoreOf(*a), -a->launched_at.ns, id);
  }
};

// Lent slots against what waits.
class Lender {
 public:
  Lender(const View& view, Plan* plan) : state_(view.state()), plan_(*plan) {
    for (const AttemptId& id : state_.lent()) {
      const Attempt* a = state_.FindAttempt(id);
      const Job& job = *state_.FindJob(id.task.job);
      const bool ending = !a->live() || Drafted(id);
      if (!ending && !view.Serves(job)) continue;
      lent_.push_back({id, a, &job.stages[id.task.stage].tasks[id.task.task], ending});
    }
    std::sort(lent_.begin(), lent_.end(), [](const Lent& x, const Lent& y) { return x.Key() < y.Key(); });
    for (size_t i = 0; i < lent_.size(); ++i) {
      if (!lent_[i].ending) by_worker_[lent_[i].a->worker].push_back(i);
    }
  }

  void GiveBack() {
    for (const SlotKind kind : kSlotKinds) {
      for (const StageKey& key : state_.ready(kind)) ForStage(key.stage, true, lent_.size());
    }
    for (const SlotKind kind : kSlotKinds) {
      for (const StageKey& key : state_.early(kind)) ForStage(key.stage, false, EarlyThatMayStart(state_, key.stage));
    }
  }

 private:
  bool Drafted(const AttemptId& id) const {
    return std::any_of(plan_.edits().begin(), plan_.edits().end(), [&](const Edit& e) {
      const auto* kill = std::get_if<Kill>(&e);
      return kill != nullptr && kill->attempt == id;
    });
  }

  // So many of its tasks that wait, at most.
  void ForStage(const StageId& id, bool ready, size_t most) {
    size_t misses = 0;
    const Job& job = *state_.FindJob(id.job);
    for (const TaskClass& c : job.stages[id.stage].classes) {
      const bool full = state_.FullReady(job, id.stage, c);
      std::vector<const IndexSet*> sets;
      if (full == ready) sets = {&c.ready.retry, &c.ready.fresh};
      if (!ready) sets.push_back(&c.blocked);
      for (const IndexSet* set : sets) {
        for (uint32_t t = set->First(); t != IndexSet::kNone && most > 0; t = set->Next(t + 1), --most) {
          misses += !Find({id.job, id.stage, t}, c.ready.size() + c.blocked.size());
          if (misses == kMisses) return;
        }
      }
    }
  }

  bool Find(const TaskId& task, uint32_t waiting) {
    while (begin_ < lent_.size() && lent_[begin_].used) ++begin_;
    size_t i = begin_;
    for (; i < lent_.size() && lent_[i].ending; ++i) {
      if (Take(&lent_[i], task, waiting)) return true;
    }
    for (const WorkerId w : state_.FindTask(task)->plan.preferred) {
      const auto there = by_worker_.find(w);
      if (there == by_worker_.end()) continue;
      for (const size_t at : there->second) {
        if (Take(&lent_[at], task, waiting)) return true;
      }
    }
    for (; i < lent_.size(); ++i) {
      if (Take(&lent_[i], task, waiting)) return true;
    }
    return false;
  }

  bool Take(Lent* lent, const TaskId& task, uint32_t waiting) {
    if (lent->used || !LentSlotHelps(state_, lent->id, task)) return false;
    if (!lent->ending) {
      uint32_t& killed = killed_[lent->id.task];
      // Without it its task would have to begin anew.
      if (lent->task->state != TaskState::kCommitted && lent->task->live - killed <= 1) return false;
      if (!plan_.Kill(lent->id, {ReasonCode::kSlotWanted, "", {double(waiting)}})) return false;
      ++killed;
    }
    return lent->used = true;
  }

  const State& state_;
  Plan& plan_;
  std::vector<Lent> lent_;  // those on their way back first, then as they are to be ended
  size_t begin_ = 0;        // all before it are used
  std::map<WorkerId, std::vector<size_t>> by_worker_;
  std::map<TaskId, uint32_t> killed_;
};

}  // namespace

size_t FreeOrLent(const State& state, SlotKind kind, size_t enough) {
  const std::set<WorkerId>& free = state.free(kind);
  std::set<WorkerId> lent;
  for (auto it = state.lent().begin(); it != state.lent().end() && free.size() + lent.size() < enough; ++it) {
    const WorkerId w = state.FindAttempt(*it)->worker;
    if (free.count(w) == 0) lent.insert(w);
  }
  return free.size() + lent.size();
}

size_t EarlyThatMayStart(const State& state, const StageId& id) {
  const Job& job = *state.FindJob(id.job);
  const auto ready = [](const Stage& stage) { return stage.in_ready; };
  if (std::any_of(job.stages.begin(), job.stages.end(), ready)) return 0;
  if (job.list == nullptr || !job.list->statistics.any) return state.lent().size();
  const size_t kept = KeptForCopies(state), enough = kept + state.lent().size();
  size_t may = state.lent().size();
  for (const StageInput& input : job.graph.stages[id.stage].inputs) {
    if (!input.is_edge || job.stages[input.upstream].complete()) continue;
    const size_t room = FreeOrLent(state, job.graph.stages[input.upstream].slot_kind, enough);
    may = std::min(may, room - std::min(room, kept));
  }
  return may;
}

bool LentSlotHelps(const State& state, const AttemptId& lent, const TaskId& task) {
  const Worker& w = *state.FindWorker(state.FindAttempt(lent)->worker);
  if (!w.alive || w.draining || w.held_until.ns != 0) return false;
  const Job& job = *state.FindJob(task.job);
  const StageSpec& theirs = state.Spec(lent.task.stage_id());
  const StageSpec& ours = state.Spec(task.stage_id());
  if (state.QueueFull(job, ours.slot_kind)) {
    // It may start elsewhere once its queue holds less; with greedy reduces only maps count there.
    if (state.FindJob(lent.task.job)->in_queue != job.in_queue) return false;
    return !state.sharing().by_kind || theirs.slot_kind == SlotKind::kMap;
  }
  SlotUse use = w.used;
  --use.slots[KindIndex(theirs.slot_kind)];
  use.memory -= theirs.memory_bytes;
  if (!state.Room(w, use, ours.slot_kind, ours.memory_bytes)) return false;
  if (state.Room(w, w.used, ours.slot_kind, ours.memory_bytes)) return false;  // it waits for something else than a slot
  return !state.BelongsElsewhere(ours, job.stages[task.stage].tasks[task.task], w);
}

void GiveBackLentSlots(const View& view, Plan* plan) { Lender(view, plan).GiveBack(); }

}  // namespace mr::sched
