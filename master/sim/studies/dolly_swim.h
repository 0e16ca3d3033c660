// SWIM's days of Facebook (swim-facebook in MR_DATA) on Dolly's cluster: recorded arrivals, scaled bytes.
#pragma once

#include <string>

#include "common/base/status.h"
#include "master/sim/engine/simulation.h"

namespace mr::sim {

// A part of a record, adapted to Dolly's cluster.
struct SwimDay {
  const char* file;
  double from, to;  // hours from the first submit; submits outside are left out
  double scale;     // factor on all bytes
  const char* why;  // reason for these hours
};
extern const SwimDay kSwim2009, kSwim2010;

// Returns Dolly's cluster with the day's jobs. Errors: kNotFound: `data` has no such file; kInvalidArgument: it does
// not fit its format.
Result<Experiment> SwimRun(const SwimDay& day, const std::string& data, const std::string& policies, uint64_t seed);
// Returns the workload's description for a figure.
std::string Describe(const SwimDay& day, const Experiment& run);

}  // namespace mr::sim
