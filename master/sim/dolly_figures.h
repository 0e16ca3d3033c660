// What the files of Dolly's figures share.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "master/sched/scheduler.h"
#include "master/sim/dolly_runs.h"
#include "master/sim/dolly_swim.h"
#include "master/sim/reproduce.h"

namespace mr::sim {

inline constexpr uint32_t kDollyJobs = 1000;  // an hour of submits
inline constexpr char kWithLate[] = "fair,late,blacklist", kWithMantri[] = "fair,mantri,blacklist";
inline constexpr char kDollyLate[] = "fair,dolly,delay_assignment,late,blacklist";
inline constexpr char kDollyMantri[] = "fair,dolly,delay_assignment,mantri,blacklist";
// Ours: the master's. Clones of the budget are Dolly's. Of the parameters of opportunistic, tried on the mixes of
// Facebook and Bing with late as it is above (three seeds): a third attempt makes small jobs up to 3 % shorter for 1 to
// 3 % more slot-seconds; with tasks=150 jobs of 51 to 150 tasks become 40 to 60 % shorter, small ones no longer, for 4
// to 12 % more, of slots that were idle; tasks=500 begins to cost small jobs time; `fill` changes nothing that can be
// told from chance.
inline constexpr const char* kOurs = sched::kDefaultPolicies;
inline constexpr double kPointsBelow = 8;  // a gain may be so many points below the paper's

// What a figure runs under a list.
using Workload = std::function<Result<Experiment>(const RunContext&, const std::string& list)>;
Workload Mix(DollyMix mix);
Workload Day(const SwimDay& day);  // says what it ran on, or that there is no data; REQUIRES: day lives on

// A gain in percent with that band.
Line Points(const std::string& what, double paper, const std::string& because = "");
// Figures 11 to 16, Table 2, estimates (reproduce_dolly_sweeps.cc).
std::vector<Figure> DollySweeps();
// Clones of whole jobs (reproduce_dolly_strands.cc).
std::vector<Figure> StrandFigures();
// What our list comes to (reproduce_dolly_ours.cc).
std::vector<Figure> OurFigures();

}  // namespace mr::sim
