// Makes the experiment of a cell: cluster, model of tasks, and jobs whose arrivals meet the cell's load.
#pragma once

#include <string>
#include <vector>

#include "master/sim/engine/simulation.h"
#include "master/sim/grid/cell.h"

namespace mr::sim {

// The jobs of a source before a cell scales them.
struct SourceJobs {
  std::vector<JobModel> recorded;  // empty: generated per seed
  double median = 0;               // seconds of all tasks with recorded times; 0: there are none
};
// Loads a source. data: the folder of traces.
// Errors: kNotFound: no such file; kInvalidArgument: it cannot be read, or has no job that is small enough.
Result<SourceJobs> LoadSource(const GridSource& source, const std::string& data);

// Returns the model of tasks of a cell.
TaskModel TasksOf(const Grid& grid, const GridCell& cell);

// Makes the cell's experiment, without policies. The same cell and seed give the same experiment, whatever else runs.
//
// Load: arrivals are laid out so that the expected slot time of the seed's jobs (expected.h), times cell.slot_time, is
// cell.load of all slots from the first submit to the last. Gaps are exponential or hyperexponential, and scaled to
// exactly this time, since drawn gaps in bursts would miss it by a fifth. An attempt shares its host's disk and network
// with as many others as the load keeps busy. Errors: kInvalidArgument: the generator rejects the source.
Result<Experiment> MakeWorld(const Grid& grid, const GridCell& cell, const SourceJobs& source, uint64_t seed);

}  // namespace mr::sim
