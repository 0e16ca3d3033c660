// Gaps between the submits of jobs.
#pragma once

#include "common/base/rng.h"

namespace mr::sim {

// Draws a gap with this mean and coefficient of variation: hyperexponential, of two branches with balanced means.
// variation 1 is a Poisson process. Requires: mean > 0, variation >= 1.
double RandomGap(Rng& rng, double mean, double variation);

}  // namespace mr::sim
