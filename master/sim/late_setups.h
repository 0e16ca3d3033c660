// The clusters and jobs of LATE (Zaharia et al., OSDI 2008, sections 2 and 5), as experiments.
#pragma once

#include "master/sim/simulation.h"

namespace mr::sim {

// The scheduler lists that are compared there. Parameters of `late` may be given, as "cap=0.2".
inline constexpr const char* kNoCopies = "fifo";
inline constexpr const char* kNative = "fifo,hadoop_speculation";
std::string LateWith(const std::string& parameters);

// What a byte that a reduce copies costs a disk, the many small files of all maps, against a byte of one dd, which is
// what LATE measured disks with. Calibrated on one absolute time of the paper: Sort of 100 GB on isolated machines
// takes 408 s.
inline constexpr double kCopyCost = 9.4;

// How many hosts have 1, 2, 3... virtual machines, and what disk each of these has then, in bytes per second.
struct LoadMix {
  std::vector<uint32_t> hosts;
  std::vector<double> disk;
  uint32_t stragglers = 0;  // of the virtual machines: with load that is not ours
};
LoadMix Ec2Mix(std::vector<uint32_t> hosts, uint32_t stragglers);
LoadMix LocalMix(uint32_t stragglers);

// A job of Hadoop as of 2008 on such a cluster.
struct HadoopJob {
  uint64_t bytes = 0;  // of input
  uint32_t reduces = 0;
  double shuffle = 1, output = 1;        // per byte of input
  double map_cost = 0, reduce_cost = 0;  // seconds of a core per byte
};
HadoopJob SortJob(uint64_t bytes, uint32_t reduces);
HadoopJob GrepJob(uint64_t bytes, uint32_t reduces);
HadoopJob WordCountJob(uint64_t bytes, uint32_t reduces);
Experiment HadoopRun(const LoadMix& mix, const HadoopJob& job, const std::string& policies, uint64_t seed);

// Section 5.4: 40 nodes, maps that sleep 15 s, 76 reduces that nap 100 times; one node is ten times slow,
// five are three times, the others are at 1 or 1.5.
Experiment SleepJob(const std::string& policies, uint64_t seed);

}  // namespace mr::sim
