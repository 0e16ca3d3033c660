// SWIM's days of Facebook (swim-facebook of MR_DATA) on Dolly's cluster: arrivals as recorded, bytes scaled to it.
#pragma once

#include <string>

#include "common/base/status.h"
#include "master/sim/simulation.h"

namespace mr::sim {

// What of a record is run, and how it is bent to Dolly's cluster.
struct SwimDay {
  const char* file;
  double from, to;  // hours from the first submit; what was submitted outside of them is left out
  double scale;     // of all bytes
  const char* why;  // these hours
};
extern const SwimDay kSwim2009, kSwim2010;

// As DollyRun, with the day's jobs. kNotFound where `data` has no such file, kInvalidArgument where it is not what its
// format says.
Result<Experiment> SwimRun(const SwimDay& day, const std::string& data, const std::string& policies, uint64_t seed);
// For a figure: what it ran on.
std::string Describe(const SwimDay& day, const Experiment& run);

}  // namespace mr::sim
