#include "master/sched/policies/fair_share.h"

#include <algorithm>

namespace mr::sched {

namespace {

double ShareOf(const State& state, const Job& job, double slots) {
  const Queue& q = *job.in_queue;
  double weights = 0;
  for (const auto& [number, queue] : state.busy_queues()) weights += queue->weight;
  double share = slots * q.weight / weights;
  for (const auto& [number, other] : state.busy_queues()) {
    if (other == &q) continue;
    const double most = other->max_share == 0 ? slots : std::min<double>(slots, other->max_share);
    share -= std::max(0.0, std::min<double>(other->min_share, most) - slots * other->weight / weights);
  }
  share = std::max(share, std::min<double>(slots, q.min_share));
  if (q.max_share != 0) share = std::min<double>(share, q.max_share);
  return share / q.jobs;
}

// That this phase holds, or may hold soon: all that its tasks are to have.
uint32_t Granted(const Stage& stage) {
  const auto active = static_cast<uint32_t>(stage.active.size());
  if (stage.cloned == 0) return active;
  uint32_t wanted = 0;
  for (const Task& task : stage.tasks) wanted += task.state == TaskState::kCommitted ? task.holding : std::max(task.wanted, task.holding);
  return wanted;
}

}  // namespace

double RoomInShare(const State& state, const StageId& phase) {
  const Job& job = *state.FindJob(phase.job);
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

}  // namespace mr::sched
