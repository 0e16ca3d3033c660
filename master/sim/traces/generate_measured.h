// Jobs drawn from measurements of recorded workloads; submitted at 0.
#pragma once

#include "common/base/rng.h"
#include "master/sim/engine/model.h"

namespace mr::sim {

// round: the measured jobs that are left. The caller keeps it; it begins empty.
JobModel MumakJob(Rng& rng, uint32_t number, std::vector<uint32_t>* round);
JobModel GoogleJob(Rng& rng, uint32_t number);

// Returns quantiles of duration / median of the tasks in Google's cell, pooled over jobs of 20 tasks or more. Each
// stands for the same share of the tasks.
std::vector<float> GoogleFactors();

}  // namespace mr::sim
