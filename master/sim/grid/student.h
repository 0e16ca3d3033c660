// Quantiles of Student's t distribution, for confidence intervals. The standard library has none.
#pragma once

#include <cstdint>

namespace mr::sim {

// Returns P(|T| < t) for T of Student's distribution with this many degrees of freedom.
// Requires: t >= 0, freedom >= 1. Cost: freedom / 2 steps.
// Source: Abramowitz and Stegun, 26.7.3 and 26.7.4, a finite sum for whole degrees of freedom.
double StudentInside(double t, uint32_t freedom);

// Returns the t with P(|T| < t) = inside: half the width of a two-sided interval, in standard errors. The relative
// error is below 1e-9 for inside up to .9999. Requires: 0 < inside < 1, freedom >= 1.
double StudentBound(double inside, uint32_t freedom);

}  // namespace mr::sim
