// What a run came to, for people and for scripts.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "master/sim/simulation.h"

namespace mr::sim {

// Completion of jobs of one size, in seconds. The bins are Dolly's (papers.md 1.4), by tasks.
inline constexpr std::array<const char*, 6> kBinNames = {"1-10", "11-50", "51-150", "151-500", "501-", "all"};
struct Bin {
  const char* name = "";
  size_t jobs = 0;
  double mean = 0, p50 = 0, p95 = 0, p99 = 0;  // of jobs that succeeded
};
std::array<Bin, kBinNames.size()> BinsOf(const std::vector<JobResult>& jobs);

struct Header {
  std::string workload, cluster, scheduler;
  uint64_t seed = 0;
  uint32_t slots = 0;
};
std::string Table(const Header& header, const Simulation& run);
// One document and a newline.
std::string Json(const Header& header, const Simulation& run);

}  // namespace mr::sim
