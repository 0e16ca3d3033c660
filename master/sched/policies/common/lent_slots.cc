#include "master/sched/policies/common/lent_slots.h"

#include <algorithm>
#include <set>

#include "master/sched/policies/common/choose.h"

namespace mr::sched {

namespace {
// Waiting stages examined for one slot. A guess: if more wait, no slot of the cluster is idle for long.
constexpr size_t kReadySeen = 64;
}  // namespace

SlotUse Without(SlotUse use, const StageSpec& spec) {
  --use.slots[KindIndex(spec.slot_kind)];
  use.memory -= spec.memory_bytes;
  return use;
}

bool MayBeOffered(const Worker& w) { return w.alive && !w.draining && w.held_until.ns == 0; }

bool CountsInQueue(const State& state, SlotKind kind) { return !state.sharing().by_kind || kind == SlotKind::kMap; }

uint32_t HeldInQueue(const State& state, const Queue& queue) {
  return state.sharing().by_kind ? queue.held[KindIndex(SlotKind::kMap)] : queue.held_total();
}

bool ComesBack(const State& state, const AttemptId& lent) {
  const Attempt& a = *state.FindAttempt(lent);
  const Task& task = *state.FindTask(lent.task);
  return !a.live() || task.state == TaskState::kCommitted || CanDoWithout(task, a);
}

size_t SlotsThatComeBack(const State& state) {
  size_t n = 0;
  for (const AttemptId& id : state.lent()) n += ComesBack(state, id);
  return n;
}

uint64_t HeldSlots(const State& state) {
  uint64_t held = 0;
  for (const auto& [number, queue] : state.busy_queues()) held += queue->held_total();
  return held - SlotsThatComeBack(state);
}

size_t FreeOrLent(const State& state, SlotKind kind, size_t enough) {
  const std::set<WorkerId>& free = state.free(kind);
  std::set<WorkerId> lent;
  for (auto it = state.lent().begin(); it != state.lent().end() && free.size() + lent.size() < enough; ++it) {
    const Worker& w = *state.FindWorker(state.FindAttempt(*it)->worker);
    if (free.count(w.id) != 0 || !MayBeOffered(w) || !ComesBack(state, *it)) continue;
    if (state.Room(w, Without(w.used, state.Spec(it->task.stage_id())), kind, 0)) lent.insert(w.id);
  }
  return free.size() + lent.size();
}

size_t EarlyThatMayStart(const State& state, const StageId& id) {
  const Job& job = *state.FindJob(id.job);
  const auto ready = [](const Stage& stage) { return stage.in_ready; };
  if (std::any_of(job.stages.begin(), job.stages.end(), ready)) return 0;
  if (job.list == nullptr || !job.list->statistics.speculation) return state.lent().size();
  const size_t kept = KeptForSpeculation(state), enough = kept + state.lent().size();
  size_t may = state.lent().size();
  for (const StageInput& input : job.graph.stages[id.stage].inputs) {
    if (!input.is_edge || job.stages[input.upstream].complete()) continue;
    const size_t room = FreeOrLent(state, job.graph.stages[input.upstream].slot_kind, enough);
    may = std::min(may, room - std::min(room, kept));
  }
  return may;
}

bool LentSlotHelps(const State& state, const AttemptId& lent, const StageId& stage) {
  const Worker& w = *state.FindWorker(state.FindAttempt(lent)->worker);
  if (!MayBeOffered(w)) return false;
  const Job& job = *state.FindJob(stage.job);
  const StageSpec& theirs = state.Spec(lent.task.stage_id());
  const StageSpec& ours = state.Spec(stage);
  if (state.QueueFull(job, ours.slot_kind)) {
    return state.FindJob(lent.task.job)->in_queue == job.in_queue && CountsInQueue(state, theirs.slot_kind);
  }
  return state.Room(w, Without(w.used, theirs), ours.slot_kind, ours.memory_bytes) &&
         !state.Room(w, w.used, ours.slot_kind, ours.memory_bytes);
}

size_t TasksInNeedOf(const State& state, const AttemptId& id, size_t coming) {
  for (const SlotKind kind : {SlotKind::kMap, SlotKind::kReduce}) {
    size_t waiting = 0, seen = 0;
    const std::set<StageKey>& ready = state.ready(kind);
    for (auto it = ready.begin(); it != ready.end() && seen < kReadySeen; ++it, ++seen) {
      if (!LentSlotHelps(state, id, it->stage)) continue;
      const Job& job = *state.FindJob(it->stage.job);
      for (const TaskClass& c : job.stages[it->stage.stage].classes) {
        if (state.FullReady(job, it->stage.stage, c)) waiting += c.ready.size();
      }
    }
    if (waiting > state.free(kind).size() + coming) return waiting;
  }
  return 0;
}

}  // namespace mr::sched
