#include "master/sched/index/workers.h"

#include <algorithm>

namespace mr::sched {

bool WorkerIndex::MayEverRun(const StageSpec& spec, const Worker& w) {
  return w.alive && !w.draining && Room(w, {}, spec.slot_kind, spec.memory_bytes);
}

bool WorkerIndex::AnotherRackHasRoom(const StageSpec& spec, const Task& task, const Worker& w) const {
  if (rack_count() < 2) return false;
  const auto shared = [&](uint32_t rack) {
    return std::any_of(task.attempts.begin(), task.attempts.end(),
                       [&](const Attempt& a) { return a.live() && FindWorker(a.worker)->rack_number == rack; });
  };
  if (!shared(w.rack_number)) return false;
  size_t seen = 0;
  for (const WorkerId id : free(spec.slot_kind)) {
    const Worker& other = workers_.at(id);
    if (seen++ == kWorkersSeenForRacks) return false;
    if (other.rack_number == w.rack_number || TimesFailedOn(task, other) > 0 || shared(other.rack_number)) continue;
    if (Room(other, other.used, spec.slot_kind, spec.memory_bytes)) return true;
  }
  return false;
}

bool WorkerIndex::BelongsElsewhere(const StageSpec& spec, const Task& task, const Worker& w) const {
  // Clones are to be independent: a fault of a worker, or a rack, hits both attempts there.
  const bool clone = task.wanted > 1 && task.live > 0;
  if (clone && (LiveOn(task, w.id) || AnotherRackHasRoom(spec, task, w))) return true;
  const uint32_t here = TimesFailedOn(task, w);
  if (here == 0) return false;
  const auto better = [&](const Worker& other) {
    return TimesFailedOn(task, other) < here && !(clone && LiveOn(task, other.id));
  };
  for (const WorkerId id : free(spec.slot_kind)) {
    const Worker& other = workers_.at(id);
    if (better(other) && Room(other, other.used, spec.slot_kind, spec.memory_bytes)) return true;
  }
  if (task.failures < kFailuresAnywhere && task.environment_failures == 0) return false;
  return std::any_of(workers_.begin(), workers_.end(), [&](const auto& entry) {
    const Worker& other = entry.second;
    // One that refuses what it is offered may never run the task.
    return better(other) && other.refused_in_row == 0 && MayEverRun(spec, other);
  });
}

void WorkerIndex::RefreshWorker(Worker& w) {
  outputs_made_ += w.outputs_made - w.counted_made;
  outputs_lost_ += w.outputs_lost - w.counted_lost;
  w.counted_made = w.outputs_made;
  w.counted_lost = w.outputs_lost;
  const SlotCount count = SlotsOf(w);
  slots_.total += count.total - w.counted.total;
  for (const size_t kind : {0, 1}) slots_.by_kind[kind] += count.by_kind[kind] - w.counted.by_kind[kind];
  w.counted = count;
  CountRack(w);
  const bool offered = w.alive && !w.draining && w.held_until.ns == 0;
  for (const SlotKind kind : {SlotKind::kMap, SlotKind::kReduce}) {
    const bool is = offered && Room(w, w.used, kind, 0);
    bool& was = w.is_free[KindIndex(kind)];
    if (is == was) continue;
    was = is;
    if (is)
      free_[KindIndex(kind)].insert(w.id);
    else
      free_[KindIndex(kind)].erase(w.id);
  }
  roll_[w.in_roll] = {w.id, w.alive && !w.draining, w.is_free};
}

std::string CheckSlots(const WorkerIndex& index) {
  SlotCount slots;
  for (const auto& [id, w] : index.workers()) {
    const SlotCount one = WorkerIndex::SlotsOf(w);
    slots.total += one.total;
    for (const size_t kind : {0, 1}) slots.by_kind[kind] += one.by_kind[kind];
  }
  return slots == index.slots() ? "" : "the slots of the cluster are counted wrong";
}

}  // namespace mr::sched
