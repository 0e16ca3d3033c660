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
  double jobs = 0;                             // that succeeded; of several runs: in those that have any
  double seeds = 0;                            // runs that have such jobs: all numbers here are medians over these
  double mean = 0, p50 = 0, p95 = 0, p99 = 0;  // of jobs that succeeded
};
std::array<Bin, kBinNames.size()> BinsOf(const std::vector<JobResult>& jobs);

// What one list of policies came to: in one run, or the medians of several, number by number.
struct Summary {
  std::string scheduler;
  std::array<Bin, kBinNames.size()> bins;
  double jobs = 0, failed = 0;
  double deadlines = 0, missed = 0;  // jobs that had a deadline to the end, and those of them that were late or failed
  double makespan = 0;               // seconds
  // Slot-seconds of attempts that committed, and of all others; utilisation: of all slots until the last job ended.
  double useful = 0, wasted = 0, utilisation = 0;
  double starts = 0, copies = 0, copies_won = 0, retries = 0;
  struct OfCause {
    double launched = 0, won = 0, wasted = 0;  // slot-seconds
  };
  std::array<OfCause, sched::kCauses> causes;  // by sched::CauseIndex
  double read_bytes = 0, local_bytes = 0, cross_rack_bytes = 0;
  double events = 0;
  uint64_t digest = 0;  // of all runs
};
Summary SummaryOf(const std::string& scheduler, uint32_t slots, const Simulation& run);
// REQUIRES: runs of one list, at least one.
Summary MedianOf(const std::vector<Summary>& runs);

struct Header {
  std::string workload, cluster;
  uint64_t seed = 0;
  uint32_t seeds = 1;  // from `seed` on
  uint32_t slots = 0;
};
std::string Table(const Header& header, const Summary& summary);
// One document and a newline.
std::string Json(const Header& header, const Summary& summary);

// Parts of these that a comparison shares (compare.h).
// How many jobs, and where there are several seeds, how many of these have any.
std::string JobsOfBin(const Bin& bin, int width, uint32_t seeds);
std::string JsonHead(const Header& header);  // `"workload":...,`
// `"scheduler":...`; first: with ratios to its bins; may be null.
std::string JsonBody(const Summary& summary, const Summary* first);
std::string Printed(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace mr::sim
