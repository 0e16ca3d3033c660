// Random small clusters, workloads and fault plans. With any luck, every job must end as it should.
#pragma once

#include <string>

#include "master/sim/engine/simulation.h"

namespace mr::sim {

// The name of random lists: one for each configuration, from all policies.
inline constexpr char kAnyPolicies[] = "any";
std::string RandomPolicies(uint64_t seed);
// Returns at most 50 workers, at least one of which never fails for good, and jobs of a few stages joined by any edges.
// A function of its arguments.
Experiment RandomExperiment(uint64_t seed, const std::string& policies);
// Runs the experiment and checks all invariants after each event. Returns "" or what did not hold.
std::string RunChecked(Experiment experiment);

}  // namespace mr::sim
