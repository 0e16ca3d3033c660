// Straggler factors of machines: each keeps its factor for an exponential time, then draws a new one. The sequence of a
// machine depends on the seed alone, so all policies meet the same slow machines at the same time.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/time.h"
#include "master/sim/engine/task_model.h"

namespace mr::sim {

class MachineFactors {
 public:
  // lasts: mean seconds for which a factor stays; 0: for ever. Draws each machine's first factor.
  MachineFactors(const FactorModel& model, double lasts, uint64_t seed, size_t machines);

  double factor(uint32_t machine) const { return machines_.empty() ? 1 : machines_[machine].factor; }
  // Returns true if factors change during a run.
  bool Change() const { return !machines_.empty() && lasts_ > 0; }
  // Returns how long the machine's factor stays from when it was drawn. Requires: Change().
  Duration Stays(uint32_t machine) const { return machines_[machine].stays; }
  // Draws the machine's next factor. Requires: Change().
  void Turn(uint32_t machine);

 private:
  struct Machine {
    double factor = 1;
    Duration stays;
    uint32_t drawn = 0;
  };
  FactorModel model_;
  double lasts_;
  uint64_t seed_;
  std::vector<Machine> machines_;  // empty: without factors
};

}  // namespace mr::sim
