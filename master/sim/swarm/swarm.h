// Makes random small clusters, workloads and fault plans. Whatever the random draws, every job must end as it should.
#pragma once

#include <string>

#include "master/sim/engine/simulation.h"

namespace mr::sim {

// The name of random lists: one for each configuration.
inline constexpr char kAnyPolicies[] = "any";
// Returns a random list. Most parts are from fixed lists with tested parameters. A policy that stands in none of these
// takes part with its default parameters, so that a new policy needs no line here.
std::string RandomPolicies(uint64_t seed);
// Returns a random experiment: at most 50 workers, at least one that never fails for good, and jobs of a few stages
// with random edges. It depends only on its arguments.
Experiment RandomExperiment(uint64_t seed, const std::string& policies);
// Runs the experiment and checks all invariants after each event. Returns "" or what did not hold.
std::string RunChecked(Experiment experiment);

}  // namespace mr::sim
