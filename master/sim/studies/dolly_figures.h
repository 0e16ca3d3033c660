// Shared parts of Dolly's figures.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "master/sched/scheduler.h"
#include "master/sim/studies/dolly_runs.h"
#include "master/sim/studies/dolly_swim.h"
#include "master/sim/studies/reproduce.h"

namespace mr::sim {

inline constexpr uint32_t kDollyJobs = 1000;  // an hour of submits
inline constexpr char kWithLate[] = "fair,late,blacklist", kWithMantri[] = "fair,mantri,blacklist";
inline constexpr char kDollyLate[] = "fair,dolly,delay_assignment,late,blacklist";
inline constexpr char kDollyMantri[] = "fair,dolly,delay_assignment,mantri,blacklist";
// The master's default list; its budgeted clones are Dolly's. Parameters of opportunistic were tried on the mixes of
// Facebook and Bing with late as above (three seeds). A third attempt makes small jobs up to 3 % shorter for 1 to 3 %
// more slot-seconds. With tasks=150, jobs of 51 to 150 tasks are 40 to 60 % shorter and small ones no longer, for 4 to
// 12 % more slot-seconds, on idle slots. tasks=500 begins to delay small jobs. `fill` has no effect beyond chance.
inline constexpr const char* kOurs = sched::kDefaultPolicies;
inline constexpr double kPointsBelow = 8;  // points that a gain may be below the paper's

// Makes the experiment of a figure under a list.
using Workload = std::function<Result<Experiment>(const RunContext&, const std::string& list)>;
Workload Mix(DollyMix mix);
Workload Day(const SwimDay& day);  // names its workload, or reports missing data; Requires: `day` outlives it

// Makes a line of a gain in percent, with that band.
Line Points(const std::string& what, double paper, const std::string& because = "");
// Figures 11 to 16, Table 2, estimates (reproduce_dolly_sweeps.cc).
std::vector<Figure> DollySweeps();
// Clones of whole jobs (reproduce_dolly_strands.cc).
std::vector<Figure> StrandFigures();
// Our list (reproduce_dolly_ours.cc).
std::vector<Figure> OurFigures();

}  // namespace mr::sim
