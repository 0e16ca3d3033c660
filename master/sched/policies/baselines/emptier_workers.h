// Finds workers on which a clone on an idle slot disturbs no other attempt, and checks whether there is a better one.
#pragma once

#include <array>
#include <vector>

#include "master/sched/state/state.h"

namespace mr::sched {

class EmptierWorkers {
 public:
  // fill: with a clone at most this share of a worker's slots is in use, or the clone is alone.
  explicit EmptierWorkers(double fill) : fill_(fill) {}

  bool IdleEnough(const Worker& w) const { return w.used_total() == 0 || w.used_total() + 1 <= fill_ * w.slots.total; }
  // Returns whether a worker with fewer slots in use would take the clone. It is better for the clone and for the
  // attempts that would share a machine with it.
  bool AnyFor(const State& state, const StageSpec& spec, const Task& task, const Worker& worker);

 private:
  // The first free workers that may take clones, the emptiest first. Valid until something is folded in.
  struct Seen {
    uint64_t folds = ~uint64_t{0};
    std::vector<const Worker*> workers;
  };
  const std::vector<const Worker*>& EmptiestFirst(const State& state, SlotKind kind);

  const double fill_;
  std::array<Seen, 2> seen_;
};

}  // namespace mr::sched
