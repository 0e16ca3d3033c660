// The slot time that a job is expected to take, so that arrivals can meet a load. Pure.
#pragma once

#include "master/sim/engine/model.h"

namespace mr::sim {

// Returns the mean of the model's factor. Source: the lognormal's mean; the integral of a Pareto tail up to its cap.
double MeanFactor(const FactorModel& model);

// The cluster as an attempt meets it.
struct Surroundings {
  double disk = 0, network = 0;  // bytes per second of a host
  double neighbours = 1;         // attempts that share a host's disk and network, this one included
};

// Returns the mean seconds for which an attempt of the stage holds a slot. A phase takes as long as its bottleneck: its
// computing, its bytes of disk, or its bytes of network. Maps read locally; a reduce's input crosses the network. Waits
// of reduces for maps, and extra attempts, are left out: they are a list's doing.
double ExpectedSeconds(const StageModel& stage, const TaskModel& tasks, const Surroundings& around);

// Returns the slot-seconds of the whole job.
double ExpectedSlotSeconds(const JobModel& job, const TaskModel& tasks, const Surroundings& around);

}  // namespace mr::sim
