// Jobs by what was measured on recorded workloads; submitted at 0.
#pragma once

#include "common/base/rng.h"
#include "master/sim/model.h"

namespace mr::sim {

// round: what is left of the measured jobs; empty at first, kept by the caller.
JobModel MumakJob(Rng& rng, uint32_t number, std::vector<uint32_t>* round);
JobModel GoogleJob(Rng& rng, uint32_t number);

// Duration / median of a task of Google's cell, pooled over its jobs of 20 tasks or more: quantiles that stand for
// equal shares of the tasks.
std::vector<float> GoogleFactors();

}  // namespace mr::sim
