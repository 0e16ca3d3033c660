// A failing experiment made small: what can be left out, with the same thing still going wrong.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "master/sim/simulation.h"

namespace mr::sim {

// "" or what did not hold: RunChecked, or that with more.
using Checker = std::function<std::string(const Experiment&)>;

// What kind of thing went wrong: the text without numbers, names of what it is about, and when.
std::string ClassOf(const std::string& wrong);

struct Shrunk {
  Experiment experiment;
  std::string wrong;
  uint32_t runs = 0;
};
// Leaves out jobs, faults, workers, stages, policies, message faults, queues, and halves tasks, as long as `check`
// says something of the same class; until nothing more can go, or after `most` runs.
// REQUIRES: check(experiment) is not "".
Shrunk Shrink(Experiment experiment, const Checker& check, uint32_t most = 2000);

// The experiment in lines: cluster, jobs, faults, policies.
std::string Describe(const Experiment& experiment);
// The last `most` events of a run and their decisions, a line each.
std::string LastEvents(Experiment experiment, size_t most);

}  // namespace mr::sim
