// The clusters and jobs of LATE (Zaharia et al., OSDI 2008, section 5), as experiments.
#pragma once

#include "master/sim/simulation.h"

namespace mr::sim {

// The scheduler lists that are compared there. Parameters of `late` may be given, as "cap=0.2".
inline constexpr const char* kNoCopies = "fifo";
inline constexpr const char* kNative = "fifo,hadoop_speculation";
std::string LateWith(const std::string& parameters);

// Section 5.4: 40 nodes, maps that sleep 15 s, 76 reduces that nap 100 times; one node is ten times slow,
// five are three times, the others are at 1 or 1.5.
Experiment SleepJob(const std::string& policies, uint64_t seed);

}  // namespace mr::sim
