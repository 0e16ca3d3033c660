// The parts of a run that study files describe: clusters, task times and jobs.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "master/sim/engine/simulation.h"
#include "master/sim/studies/document.h"

namespace mr::sim {

// Values that the runs of a figure share for one seed, by name: recorded jobs, predictions.
using Memory = std::map<std::string, std::shared_ptr<const void>>;

struct RunContext {
  uint64_t seed = 1;
  std::string data;                // where traces are; may be ""
  std::string* used = nullptr;     // a figure may name its workload here (a trace, the generator); not null
  std::string* skipped = nullptr;  // why a figure cannot run; then its numbers do not count; not null
  Memory* memory = nullptr;        // not null
};
inline constexpr char kNoTraces[] = "MR_DATA does not say where traces are";

// Adds a part to an experiment whose seed is set.
using Part = std::function<Status(const RunContext&, Experiment*)>;

// Ratios and costs of a program, in bytes per byte and core-seconds per byte.
struct Program {
  double shuffle = 1;                    // of a map's output, per byte of input
  double output = 1;                     // of a reduce's output, per byte of input
  bool of_shuffle = false;               // `output` is per byte of shuffle
  double map_cost = 0, reduce_cost = 0;  // 0: the cluster's
};
Program ParseProgram(Fields* fields);

// Where the blocks of the jobs' inputs are, and how the cluster looks. Both are drawn from the run's seed.
struct ClusterSetup {
  Part machines;
  Part blocks;  // of jobs that are there already; may be null
};
ClusterSetup ParseClusterSetup(Fields* fields);
Part ParseTaskSetup(Fields* fields);
// The jobs of a table [jobs.NAME]. name: the key under which `memory` caches data read from files.
Part ParseJobSetup(Fields* fields, const std::string& name, const std::map<std::string, Program>& programs);

// Lets each task that is slower than its phase's median take the median.
JobModel Ideal(JobModel job);
// Returns the middle of the values, or the mean of the two in the middle; 0 for none.
double MedianOf(std::vector<double> values);
double MedianOf(const std::vector<float>& values);

}  // namespace mr::sim
