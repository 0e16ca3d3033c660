// The clusters and jobs of LATE (Zaharia et al., OSDI'08, sections 2 and 5), as experiments.
#pragma once

#include "master/sim/engine/simulation.h"

namespace mr::sim {

// The scheduler lists that LATE compares. `late` may have parameters, as "cap=0.2".
inline constexpr const char* kNoSpeculation = "fifo";
inline constexpr const char* kNative = "fifo,hadoop_speculation";
std::string LateWith(const std::string& parameters);

// Disk bytes per byte that a reduce copies, the many small files of all maps. The unit is one byte of a dd, with which
// LATE measured disks. Calibrated on one absolute time of the paper: Sort of 100 GB on isolated machines takes 408 s.
inline constexpr double kCopyCost = 9.4;

// Numbers of hosts with 1, 2, 3... virtual machines, and the disk of each of these machines, in bytes per second.
struct LoadMix {
  std::vector<uint32_t> hosts;
  std::vector<double> disk;
  uint32_t stragglers = 0;  // virtual machines with foreign load
};
LoadMix Ec2Mix(std::vector<uint32_t> hosts, uint32_t stragglers);
LoadMix LocalMix(uint32_t stragglers);

// A Hadoop job of 2008 on such a cluster.
struct HadoopJob {
  uint64_t bytes = 0;  // input bytes
  uint32_t reduces = 0;
  double shuffle = 1, output = 1;        // bytes per byte of input
  double map_cost = 0, reduce_cost = 0;  // core-seconds per byte
};
HadoopJob SortJob(uint64_t bytes, uint32_t reduces);
HadoopJob GrepJob(uint64_t bytes, uint32_t reduces);
HadoopJob WordCountJob(uint64_t bytes, uint32_t reduces);
Experiment HadoopRun(const LoadMix& mix, const HadoopJob& job, const std::string& policies, uint64_t seed);

// Returns the job of LATE 5.4 on 40 nodes: maps that sleep 15 s and 76 reduces that nap 100 times. One node is ten
// times slow, five are three times slow, and the others have factor 1 or 1.5.
Experiment SleepJob(const std::string& policies, uint64_t seed);

}  // namespace mr::sim
