#include "master/sched/index/racks.h"

#include <algorithm>

namespace mr::sched {

uint32_t RackIndex::RackNumber(const std::string& rack) {
  const auto [it, added] = rack_numbers_.try_emplace(rack, static_cast<uint32_t>(rack_numbers_.size()));
  if (added) {
    rack_names_.push_back(&it->first);
    racks_.emplace_back();
  }
  return it->second;
}

void RackIndex::CountRacks(Stage& stage, const Task& task, int direction) const {
  if (!sharing_.by_rack) return;
  const uint32_t step = static_cast<uint32_t>(direction);
  const auto count = [&](WorkerId worker, auto&& add) {
    const uint32_t number = FindWorker(worker)->rack_number;
    if (number >= stage.racks.size()) stage.racks.resize(number + 1);
    RackShare& rack = stage.racks[number];
    const bool used = rack != RackShare{};
    stage.begun_in_racks -= rack.begun();
    add(rack);
    stage.begun_in_racks += rack.begun();
    stage.racks_used += static_cast<uint32_t>(rack != RackShare{}) - static_cast<uint32_t>(used);
  };
  if (!task.replicas.empty()) {
    count(task.replicas.front().worker, [&](RackShare& rack) {
      rack.bytes += static_cast<uint64_t>(static_cast<int64_t>(direction)) * task.manifest.bytes;
      rack.outputs += step;
    });
  }
  for (const Attempt& a : task.attempts) {
    const bool won = task.state == TaskState::kCommitted && a.number == task.winner;
    if (a.live() || won) count(a.worker, [&](RackShare& rack) { rack.attempts += step; });
  }
}

void RackIndex::CountRack(Worker& w) {
  if (!sharing_.by_rack) return;
  if (w.in_rack != RackSlots{}) {
    RackSlots& old = racks_[w.counted_rack];
    for (const size_t kind : {0, 1}) {
      old.slots[kind] -= w.in_rack.slots[kind];
      old.free[kind] -= w.in_rack.free[kind];
    }
  }
  w.in_rack = {SlotsOf(w).by_kind, {}};
  for (const SlotKind kind : {SlotKind::kMap, SlotKind::kReduce}) {
    const size_t k = KindIndex(kind);
    const uint32_t left = w.slots.total - std::min(w.slots.total, w.used_total());
    const uint32_t cap = w.in_rack.slots[k] - std::min(w.in_rack.slots[k], w.used.slots[k]);
    w.in_rack.free[k] = w.held_until.ns == 0 ? std::min(left, cap) : 0;
  }
  w.counted_rack = w.rack_number;
  RackSlots& rack = racks_[w.rack_number];
  for (const size_t kind : {0, 1}) {
    rack.slots[kind] += w.in_rack.slots[kind];
    rack.free[kind] += w.in_rack.free[kind];
  }
}

void RackIndex::RecountRacks() {
  racks_.assign(rack_names_.size(), {});
  for (auto& [id, w] : workers_) {
    w.in_rack = {};
    CountRack(w);
  }
  for (auto& [id, job] : jobs_) {
    for (Stage& stage : job.stages) {
      stage.racks.clear();
      stage.racks_used = 0;
      stage.begun_in_racks = 0;
      for (const Task& task : stage.tasks) CountRacks(stage, task, +1);
    }
  }
}

std::string RackIndex::CheckRacks() const {
  std::vector<RackSlots> racks(rack_names_.size());
  for (const auto& [id, w] : workers_) {
    if (!sharing_.by_rack || !w.alive || w.draining) continue;
    for (const SlotKind kind : {SlotKind::kMap, SlotKind::kReduce}) {
      const size_t k = KindIndex(kind);
      racks[rack_numbers_.at(w.rack)].slots[k] += SlotsOf(w).by_kind[k];
      SlotUse use = w.used;
      while (w.held_until.ns == 0 && Room(w, use, kind, 0)) {
        ++racks[rack_numbers_.at(w.rack)].free[k];
        ++use.slots[k];
      }
    }
  }
  if (racks != racks_) return "the slots of racks are counted wrong";
  for (const auto& [id, job] : jobs_) {
    for (const Stage& stage : job.stages) {
      Stage fresh;
      for (const Task& task : stage.tasks) CountRacks(fresh, task, +1);
      fresh.racks.resize(std::max(fresh.racks.size(), stage.racks.size()));  // entries that became all 0 stay
      const bool same = fresh.racks == stage.racks && fresh.racks_used == stage.racks_used;
      if (!same || fresh.begun_in_racks != stage.begun_in_racks)
        return Name(id) + ": what racks have of a stage is wrong";
    }
  }
  return "";
}

}  // namespace mr::sched
