// Results of a run, for people and for scripts.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "master/sim/engine/simulation.h"

namespace mr::sim {

// Completion of jobs of one size, in seconds. The bins count tasks, as in Dolly (NSDI'13, Table 3).
inline constexpr std::array<const char*, 6> kBinNames = {"1-10", "11-50", "51-150", "151-500", "501-", "all"};
struct Bin {
  const char* name = "";
  double jobs = 0;   // jobs that succeeded; for several runs: the median over runs that have any
  double seeds = 0;  // number of runs that have such jobs; all numbers here are medians over these
  double mean = 0, p50 = 0, p95 = 0, p99 = 0;  // of jobs that succeeded
};
std::array<Bin, kBinNames.size()> BinsOf(const std::vector<JobResult>& jobs);

// Results of one list of policies: of one run, or the medians of several runs, number by number.
struct Summary {
  std::string scheduler;
  std::array<Bin, kBinNames.size()> bins;
  double jobs = 0, failed = 0;
  double deadlines = 0, missed = 0;  // jobs with a final deadline, and those that missed it or failed
  double makespan = 0;               // seconds
  // Slot-seconds of attempts that committed, and of all others. utilisation: of all slots until the last job ended.
  double useful = 0, wasted = 0, utilisation = 0;
  double starts = 0, extra = 0, extra_won = 0, retries = 0;
  struct OfCause {
    double launched = 0, won = 0, wasted = 0;  // wasted: slot-seconds
  };
  std::array<OfCause, kCauses> causes;  // by CauseIndex
  double read_bytes = 0, local_bytes = 0, cross_rack_bytes = 0;
  double events = 0;
  uint64_t digest = 0;  // over all runs
};
Summary SummaryOf(const std::string& scheduler, uint32_t slots, const Simulation& run);
// Returns medians over the runs. Requires: at least one run, all of the same list.
Summary MedianOf(const std::vector<Summary>& runs);

struct Header {
  std::string workload, cluster;
  uint64_t seed = 0;
  uint32_t seeds = 1;  // from `seed` on
  uint32_t slots = 0;
};
std::string Table(const Header& header, const Summary& summary);
// Returns one JSON document and a newline.
std::string Json(const Header& header, const Summary& summary);

// Parts that a comparison shares (compare.h).
// Returns the number of jobs and, for several seeds, how many seeds have any.
std::string JobsOfBin(const Bin& bin, int width, uint32_t seeds);
std::string JsonHead(const Header& header);  // `"workload":...,`
// `"scheduler":...`. first: adds ratios to its bins; may be null.
std::string JsonBody(const Summary& summary, const Summary* first);
std::string Printed(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace mr::sim
