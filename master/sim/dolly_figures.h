// What the files of Dolly's figures share.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "master/sim/dolly_runs.h"
#include "master/sim/dolly_swim.h"
#include "master/sim/reproduce.h"

namespace mr::sim {

inline constexpr uint32_t kDollyJobs = 1000;  // an hour of submits
inline constexpr char kWithLate[] = "fair,late,blacklist", kWithMantri[] = "fair,mantri,blacklist";
inline constexpr char kDollyLate[] = "fair,dolly,delay_assignment,late,blacklist";
inline constexpr char kDollyMantri[] = "fair,dolly,delay_assignment,mantri,blacklist";
inline constexpr double kPointsBelow = 8;  // a gain may be so many points below the paper's

// What a figure runs under a list.
using Workload = std::function<Result<Experiment>(const RunContext&, const std::string& list)>;
Workload Mix(DollyMix mix);
Workload Day(const SwimDay& day);  // says what it ran on, or that there is no data; REQUIRES: day lives on

// A gain in percent with that band.
Line Points(const std::string& what, double paper, const std::string& because = "");
// Figures 11 to 16, Table 2, estimates (reproduce_dolly_sweeps.cc).
std::vector<Figure> DollySweeps();

}  // namespace mr::sim
