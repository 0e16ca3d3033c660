#include "master/sched/policies/common/fair_share.h"

#include <algorithm>

#include "common/base/check.h"

namespace mr::sched {

namespace {

double ShareOf(const State& state, const Job& job, double slots) {
  const double guaranteed = std::min<double>(job.share, slots);
  if (job.share > 0 && state.sharing().spare_last) return guaranteed;
  slots -= std::min<double>(slots, state.within_guarantees());
  const Queue& q = *job.in_queue;
  double weights = 0;
  for (const auto& [number, queue] : state.busy_queues()) weights += queue->weight;
  // The other queues give up slots, by their weights, for min shares above the part by weight.
  double owed = 0, giving = 0;
  const auto of_weight = [&](const Queue& queue) { return slots * queue.weight / weights; };
  for (const auto& [number, queue] : state.busy_queues()) {
    const double most = queue->max_share == 0 ? slots : std::min<double>(slots, queue->max_share);
    const double least = std::min<double>(queue->min_share, most);
    if (least > of_weight(*queue))
      owed += least - of_weight(*queue);
    else
      giving += queue->weight;
  }
  double share = of_weight(q);
  if (q.min_share > share)
    share = std::min<double>(slots, q.min_share);
  else
    share = std::max<double>(q.min_share, share - owed * q.weight / giving);
  if (q.max_share != 0) share = std::min<double>(share, q.max_share);
  return std::max(guaranteed, share / q.jobs);
}

// Returns the slots that this phase holds or may hold soon. A cloned task counts with all clones that it should have.
uint32_t Granted(const Stage& stage) {
  if (stage.cloned == 0) return static_cast<uint32_t>(stage.active.size());
  uint32_t slots = 0;
  for (const Task& task : stage.tasks) {
    const bool cloned = task.state != TaskState::kCommitted && task.wanted > 1;
    slots += cloned ? std::max(task.wanted, task.holding) : task.holding;
  }
  return slots;
}

}  // namespace

double RoomInShare(const State& state, const StageId& phase) {
  const Job* known = state.FindJob(phase.job);
  MR_CHECK(known != nullptr && known->running(), "only running jobs have a share");
  const Job& job = *known;
  const SlotKind kind = job.graph.stages[phase.stage].slot_kind;
  uint32_t all = 0, of_kind = 0;
  for (uint32_t s = 0; s < job.stages.size(); ++s) {
    const uint32_t granted = s == phase.stage ? 0 : Granted(job.stages[s]);
    all += granted;
    if (job.graph.stages[s].slot_kind == kind) of_kind += granted;
  }
  const SlotCount& slots = state.slots();
  const double room = ShareOf(state, job, slots.total) - all;
  const double room_of_kind = ShareOf(state, job, slots.by_kind[KindIndex(kind)]) - of_kind;
  return std::min(room, room_of_kind);
}

bool FitsInShare(const State& state, const Job& job) {
  size_t slots = 0;
  for (const Stage& stage : job.stages) {
    slots += stage.active.size();
    if (!stage.in_ready) continue;
    for (const TaskClass& c : stage.classes) slots += c.ready.pending();
  }
  return static_cast<double>(slots) <= ShareOf(state, job, state.slots().total);
}

}  // namespace mr::sched
