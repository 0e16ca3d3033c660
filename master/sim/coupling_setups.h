// The Coupling Scheduler's cluster and jobs (papers.md 5.3).
#pragma once

#include <string>

#include "master/sim/simulation.h"

namespace mr::sim {

// The paper's baseline: maps by fair share, reduces as soon as a share of the maps is done, delay
// scheduling.
inline constexpr char kFairGreedy[] = "fair(reduces=greedy,slowstart=0.05),delay(clock=paper)";
// Reduces are not preempted there either, and maps are shared in the same way.
inline constexpr char kCouples[] = "fair(reduces=greedy),coupling(clock=paper)";

enum class CouplingKind { kGrep, kWordCount, kSort, kQuasiMonteCarlo, kRandomWriter };

// One of the paper's programs; what is not in its tables is a guess, said in reproduce_coupling.cc.
// Maps take 48.5 s on average with their input there (papers.md 5.2).
JobModel CouplingJob(double at, const std::string& name, CouplingKind kind, uint32_t maps, uint32_t reduces);

// `nodes` workers of 4 map and 2 reduce slots in one rack; blocks have one replica, on the first
// `holders` of them.
Experiment CouplingRun(uint32_t nodes, uint32_t holders, std::vector<JobModel> jobs, const std::string& policies,
                       uint64_t seed);

std::vector<JobModel> TableTwo();    // one at a time: each is a run
std::vector<JobModel> TableThree();  // ten map-only Greps
std::vector<JobModel> TableFour();   // 22 jobs
std::vector<JobModel> TenGreps();    // one each five minutes
// Figure 1. The sizes are a guess; the first has as many reduces as set B has slots, since it starves the second there.
std::vector<JobModel> GrepPair();
std::vector<JobModel> TwoHundred(uint64_t seed);

}  // namespace mr::sim
