// Indexes workers with room and the slots of the cluster. Decides on which worker a new attempt of a task belongs.
#pragma once

#include <array>
#include <set>
#include <utility>

#include "master/sched/index/racks.h"

namespace mr::sched {

class WorkerIndex : public RackIndex {
 public:
  // Slots of workers that are alive and not draining.
  const SlotCount& slots() const { return slots_; }
  // Workers with room for an attempt of this kind that may be offered.
  const std::set<WorkerId>& free(SlotKind kind) const { return free_[KindIndex(kind)]; }
  const std::set<std::pair<Instant, WorkerId>>& held_workers() const { return held_workers_; }
  // Totals over all workers, also those that are gone.
  uint64_t outputs_made() const { return outputs_made_; }
  uint64_t outputs_lost() const { return outputs_lost_; }

  // Returns true if the worker is live, not draining, and large enough for an attempt of this stage.
  static bool MayEverRun(const StageSpec& spec, const Worker& w);
  // Returns true if a new attempt of the task belongs on another worker. A clone does if a live attempt is on this
  // worker, or in its rack while a worker of a rack without one has room. A task that failed here does if another
  // worker has room on which it failed less. That worker may be busy once the environment failed the task, or it has
  // kFailuresAnywhere charged failures: a worker that fails attempts at once always has room.
  bool BelongsElsewhere(const StageSpec& spec, const Task& task, const Worker& w) const;
  // Returns true if an attempt of this task runs in the rack of w, and a free worker of a rack without one could take
  // another. Examines at most kWorkersSeenForRacks free workers, a guess: with several racks, one is soon found.
  static constexpr size_t kWorkersSeenForRacks = 256;
  bool AnotherRackHasRoom(const StageSpec& spec, const Task& task, const Worker& w) const;

 protected:
  // Updates the counts and sets from the worker's current values.
  void RefreshWorker(Worker& w);

  std::set<std::pair<Instant, WorkerId>> held_workers_;

 private:
  SlotCount slots_;
  std::array<std::set<WorkerId>, 2> free_;
  uint64_t outputs_made_ = 0, outputs_lost_ = 0;

  friend std::string CheckSlots(const WorkerIndex& index);
};

// Part of CheckState. Returns an error, or "".
std::string CheckSlots(const WorkerIndex& index);

}  // namespace mr::sched
