#include "master/sched/policies/common/place.h"

#include "master/sched/policies/common/lent_slots.h"

namespace mr::sched {

namespace {

Cause CauseOf(const Task& task) {
  if (task.live > 0) return Cause::kClone;
  return task.next_number > 1 ? Cause::kRetry : Cause::kFirst;
}

}  // namespace

bool LaunchOf(const State& state, const StageId& stage, const SlotOffer& offer, Choose choose, Plan* plan) {
  std::optional<Choice> choice = choose(state, stage, offer);
  if (!choice) return false;
  const TaskId task{stage.job, stage.stage, choice->task};
  return plan->Launch(task, offer.worker, CauseOf(*state.FindTask(task)), choice->reason);
}

bool LaunchInOrder(const State& state, const SlotOffer& offer, bool ready, bool with_maps, Choose choose, Plan* plan,
                   Walks* walks) {
  const Worker& worker = *state.FindWorker(offer.worker);
  // The cache does not hold for the room that a drafted launch leaves.
  if (walks != nullptr && plan->Launches()) walks = nullptr;
  if (!ready && walks != nullptr && walks->Kept(state, worker)) return false;
  static const std::set<StageKey> none;
  const auto stages = [&](SlotKind kind) -> const std::set<StageKey>& {
    if (state.free(kind).count(offer.worker) == 0) return none;
    return ready ? state.ready(kind) : state.early(kind);
  };
  const std::set<StageKey>& maps = with_maps ? stages(SlotKind::kMap) : none;
  const std::set<StageKey>& reduces = stages(SlotKind::kReduce);
  const StageKey* from = walks != nullptr ? walks->From(state, offer, ready) : nullptr;
  auto m = from != nullptr ? maps.lower_bound(*from) : maps.begin();
  auto r = from != nullptr ? reduces.lower_bound(*from) : reduces.begin();
  bool all_keep = !ready && from == nullptr;
  while (m != maps.end() || r != reduces.end()) {
    const bool map = r == reduces.end() || (m != maps.end() && *m < *r);
    const StageKey& key = map ? *m++ : *r++;
    if (offer.passed.count(key.stage.job) != 0) {
      all_keep = false;
      continue;
    }
    if (!ready && walks != nullptr && KeepsRoom(state, key.stage, worker)) continue;
    if (LaunchOf(state, key.stage, offer, choose, plan)) {
      if (walks != nullptr) walks->NoteFrom(ready, key);
      return true;
    }
    all_keep = false;
  }
  if (walks != nullptr && all_keep) walks->NoteKept(state, worker);
  if (walks != nullptr) walks->NoteFrom(ready, Walks::kEnd);
  return false;
}

void TakeBackFor(const StageId& stage, const State& state, Plan* plan) {
  const Job& job = *state.FindJob(stage.job);
  uint32_t need = 0;
  for (const TaskClass& c : job.stages[stage.stage].classes) {
    if (state.FullReady(job, stage.stage, c)) need += c.ready.pending();
  }
  // Lent slots on their way back come first. Slots that are still missing after that are taken back then.
  uint32_t coming = job.taking_back;
  for (const AttemptId& id : state.lent()) coming += !state.FindAttempt(id)->live() && LentSlotHelps(state, id, stage);
  if (need <= coming) return;
  need -= coming;
  const Reason reason{ReasonCode::kUpstreamReturned, "", {double(need)}};
  for (uint32_t s = static_cast<uint32_t>(job.stages.size()); s-- > 0 && need > 0;) {
    for (const TaskClass& c : job.stages[s].classes) {
      for (const size_t partial : {1, 0}) {
        if (partial == 0 && state.FullReady(job, s, c)) continue;
        const std::set<AttemptKey>& set = c.fetching[partial];
        for (auto it = set.rbegin(); it != set.rend() && need > 0; ++it) {
          const AttemptId id{{job.id, s, it->first}, it->second};
          if (SlotHelps(state, id, stage) && plan->TakeBack(id, reason)) --need;
        }
      }
    }
  }
}

bool SlotHelps(const State& state, const AttemptId& id, const StageId& stage) {
  const Worker& w = *state.FindWorker(state.FindAttempt(id)->worker);
  if (!w.alive || w.draining) return false;
  const StageSpec& theirs = state.Spec(id.task.stage_id());
  const StageSpec& ours = state.Spec(stage);
  // A full queue may not take slots that are free elsewhere. With greedy reduces only maps count in it.
  const Job& holder = *state.FindJob(id.task.job);
  if (holder.in_queue == state.FindJob(stage.job)->in_queue && state.QueueFull(holder, ours.slot_kind)) {
    return !state.sharing().by_kind || theirs.slot_kind == SlotKind::kMap;
  }
  if (state.free(ours.slot_kind).count(w.id) != 0 && state.Room(w, w.used, ours.slot_kind, ours.memory_bytes)) {
    return false;  // it waits for something other than a slot
  }
  SlotUse use = w.used;
  --use.slots[KindIndex(theirs.slot_kind)];
  use.memory -= theirs.memory_bytes;
  return state.Room(w, use, ours.slot_kind, ours.memory_bytes);
}

}  // namespace mr::sched
