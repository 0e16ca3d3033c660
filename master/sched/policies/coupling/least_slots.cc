#include "master/sched/policies/coupling/least_slots.h"

namespace mr::sched {

namespace {

uint32_t ReducesHold(const State& state) {
  uint32_t held = 0;
  for (const auto& [number, queue] : state.busy_queues()) held += queue->held[KindIndex(SlotKind::kReduce)];
  return held;
}

uint32_t ShareOf(const State& state, double share) {
  const double slots = share * state.slots().total;
  const auto whole = static_cast<uint32_t>(slots);
  return whole + (slots > whole ? 1 : 0);
}

bool Capped(uint32_t cap, const Worker& w) { return cap != 0 && cap < w.slots.total; }

}  // namespace

bool MayWait(const State& state, const Worker& w, const LeastSlots& least) {
  if (least.maps <= 0 || Capped(w.slots.reduce, w)) return true;
  return ReducesHold(state) + ShareOf(state, least.maps) < state.slots().total;
}

bool ReducesLackSlots(const State& state, const Worker& w, const LeastSlots& least) {
  if (least.reduces <= 0 || Capped(w.slots.map, w)) return false;
  return ReducesHold(state) < ShareOf(state, least.reduces);
}

}  // namespace mr::sched
