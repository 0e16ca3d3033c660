// Shrinks a failing experiment: removes everything that is not needed for the same failure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "master/sim/engine/simulation.h"

namespace mr::sim {

// Returns "" or what did not hold: RunChecked, or RunChecked with more invariants.
using Checker = std::function<std::string(const Experiment&)>;

// Returns the class of a failure: its text without numbers, names and time.
std::string ClassOf(const std::string& wrong);

struct Shrunk {
  Experiment experiment;
  std::string wrong;
  uint32_t runs = 0;
};
// Leaves out jobs, faults, workers, stages, policies, message faults and queues, and halves tasks, as long as `check`
// fails with the same class. Stops when nothing more can go, or after `most` runs.
// Requires: check(experiment) is not "".
Shrunk Shrink(Experiment experiment, const Checker& check, uint32_t most = 2000);

// Returns the experiment in lines: cluster, jobs, faults, policies.
std::string Describe(const Experiment& experiment);
// Returns the last `most` events of a run with their decisions.
std::string LastEvents(Experiment experiment, size_t most);

}  // namespace mr::sim
