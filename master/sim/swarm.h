// Random small clusters, workloads and fault plans; whatever the luck, every job ends as it should.
#pragma once

#include <string>

#include "master/sim/simulation.h"

namespace mr::sim {

// At most 50 workers, of which one at least never fails; jobs of a few stages joined by any edge. A
// function of the seed.
// In place of a list: a random one of each configuration, from all that there are.
inline constexpr char kAnyPolicies[] = "any";
std::string RandomPolicies(uint64_t seed);
Experiment RandomExperiment(uint64_t seed, const std::string& policies);
// Runs it with all invariants checked after each event. "" or what did not hold.
std::string RunChecked(Experiment experiment);

}  // namespace mr::sim
