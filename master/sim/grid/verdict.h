// Decides whether one list of policies is worse than the references, from the times of jobs in paired runs: each seed
// gives all lists the same jobs and luck. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "master/sim/studies/report.h"

namespace mr::sim {

// The limits of the acceptance: a list may be this much worse. Slot time depends on the load, since slots that nobody
// needs may be spent on clones.
struct GridLimits {
  double completion = 1.02;
  double slot_time = 1.05, idle_slot_time = 1.15;  // above half of the slot time in use; at or below
  double half = .5;
  // Fewest jobs over all seeds for which a mean, or a 95th percentile, is judged.
  double jobs_of_mean = 100, jobs_of_p95 = 400;
};

// One list on one seed.
struct SeedRun {
  struct OfBin {
    double jobs = 0, mean = 0, p95 = 0;  // seconds; 0 jobs: no times
  };
  std::array<OfBin, kBinNames.size()> bins;
  double slot_seconds = 0;  // of all attempts
  double failed = 0;        // jobs
  double deadlines = 0;     // jobs that have one
  double late = 0;          // of these, jobs that missed it
};

// A ratio of two lists: the geometric mean of the ratios per seed, and its confidence interval.
struct Ratio {
  double value = 0, low = 0, high = 0;
  uint32_t pairs = 0;
};
// Returns the ratio of `ours` to `theirs`, by Student's t on the logarithms of the paired ratios. inside: P(the
// interval has the ratio). With one pair there is no interval: low is 0 and high infinite. Requires: equally many of
// both, all above 0.
Ratio PairedRatio(const std::vector<double>& ours, const std::vector<double>& theirs, double inside);

struct Comparison {
  size_t reference = 0;  // index of the better one
  double jobs = 0;       // over all seeds
  Ratio ratio;
  bool judged = false;  // enough jobs, and at least two seeds
  bool fails = false;   // the interval is wholly above the limit
};
struct CellVerdict {
  std::array<Comparison, kBinNames.size()> mean, p95;
  std::vector<Ratio> slot_time;  // to each reference; the first one is judged
  double slot_time_limit = 0;
  bool slot_time_fails = false;
  double failed_jobs = 0;  // more than under the first reference, over all seeds; any fails the cell
  // Shares of the jobs with a deadline that missed it, under this list and the first reference. Not judged.
  double late = 0, reference_late = 0;
  double deadlines = 0;  // jobs that have one, over all seeds
  bool fails = false;
};

// Judges a list against references. For each number the reference is the one that is better over all seeds of the cell.
// The better one of each seed would be biased: the smaller of two noisy numbers is small by luck, so that equal lists
// would be worse than it. Choosing once per cell leaves a bias far below the width of the interval.
//
// cells: of the whole grid. Each interval has the level 1 - .05 / cells (Bonferroni), so that a grid whose list is just
// as good has one cell wrong in 20 grids, per kind of number.
// Slot time is judged by its ratio itself: it varies little, and its limit has room. An infinite limit judges nothing.
// Requires: each of `references` has as many seeds as `ours`.
CellVerdict Judge(const std::vector<SeedRun>& ours, const std::vector<std::vector<SeedRun>>& references, double load,
                  size_t cells, const GridLimits& limits = {});

}  // namespace mr::sim
