// The cluster and jobs of the Coupling Scheduler (Tan, Meng, Zhang, INFOCOM'13).
#pragma once

#include <string>

#include "master/sim/engine/simulation.h"

namespace mr::sim {

// The paper's baseline: fair share for maps, reduces once a share of the maps is done, delay scheduling.
inline constexpr char kFairGreedy[] = "fair(reduces=greedy,slowstart=0.05),delay(clock=paper)";
// The Coupling Scheduler, which shares maps in the same way and does not preempt reduces either.
inline constexpr char kCouples[] = "fair(reduces=greedy),coupling(clock=paper)";

enum class CouplingKind { kGrep, kWordCount, kSort, kQuasiMonteCarlo, kRandomWriter };

// Returns one of the paper's programs. Values that are not in its tables are guesses (reproduce_coupling.cc). Maps at
// their input take 48.5 s on average, the paper's 1 / mu.
JobModel CouplingJob(double at, const std::string& name, CouplingKind kind, uint32_t maps, uint32_t reduces);

// Returns `nodes` workers of 4 map and 2 reduce slots in one rack. Blocks have one replica, on the first `holders`
// workers.
Experiment CouplingRun(uint32_t nodes, uint32_t holders, std::vector<JobModel> jobs, const std::string& policies,
                       uint64_t seed);

std::vector<JobModel> TableTwo();    // single jobs, a run for each
std::vector<JobModel> TableThree();  // ten map-only Greps
std::vector<JobModel> TableFour();   // 22 jobs; its times are seconds, though the heading says minutes
std::vector<JobModel> TenGreps();    // one every five minutes
// Figure 1. The sizes are a guess. The first job has as many reduces as set B has slots, since it starves the second.
std::vector<JobModel> GrepPair();
std::vector<JobModel> TwoHundred(uint64_t seed);

}  // namespace mr::sim
