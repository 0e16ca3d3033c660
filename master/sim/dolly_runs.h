// Runs of Dolly's workloads, and what is counted in them for its figures.
#pragma once

#include <array>
#include <vector>

#include "master/sched/job_bins.h"
#include "master/sim/dolly_setups.h"
#include "master/sim/report.h"

namespace mr::sim {

// Of the bins that Dolly calls small: 1 to 10 tasks and 11 to 50.
inline constexpr uint32_t kFirstBin = sched::kBinEnds[0], kSmallJob = sched::kBinEnds[1];
inline constexpr size_t kAllBins = kBinNames.size() - 1;

// A read of one copy by a reader that was told which.
struct TimedRead {
  double at = 0, seconds = 0, bytes = 0;
  uint32_t readers = 1;  // of the copy, this one included
};
// How long after an output's first copy its second one was there.
struct CopyGap {
  double at = 0, seconds = 0;
};
// What clones' figures are estimated from.
struct Samples {
  std::vector<TimedRead> reads;
  std::vector<CopyGap> gaps;
};

struct DollyOutcome {
  std::vector<double> seconds;                          // of completion, by job
  std::vector<uint32_t> tasks;                          // by job
  std::array<double, kBinNames.size()> jobs{}, mean{};  // mean: seconds; the last of all jobs
  double small = 0, large = 0;                          // mean seconds of the first two bins, and of the others
  double busy = 0, utilisation = 0;                     // slot-seconds; percent
  double most_small = 0;                                // percent of the slots that small jobs ever held at once
  double smallest90 = 0;              // percent of the slot-seconds that the smallest 90 % of jobs took
  double spread50 = 0, spread95 = 0;  // median / least progress rate in a phase, at these quantiles of phases
  double budgeted = 0, lent = 0;      // slot-seconds of a budget's clones and strands; of clones on idle slots
  double small_share = 0;             // percent of clones' slot-seconds in small jobs
  double preempted = 0;               // percent of attempts: clones ended for a smaller job
  Samples samples;
};

// phases: of small jobs; with `cloned` of those that ran as clones only. kInternal where the simulation stopped.
Result<DollyOutcome> RunDolly(Experiment e, bool cloned);

// Percent of its mean completion by which the bin that gains least gains.
double LeastOfBins(const DollyOutcome& ours, const DollyOutcome& base);
// Percent by which `ours` is less than `base`.
double Less(double ours, double base);
// By which the mean completion in each bin is less, weighed by the bin's jobs: what Dolly's text must mean by its
// averages, for .82 x 46 % and .18 of some 24 % are 42 %, and .61 x 37 % with .39 of some 11 % are 27 %. The mean over
// all jobs is mostly that of the few jobs with thousands of tasks.
double LessByBin(const DollyOutcome& ours, const DollyOutcome& base);
// By which jobs of the first bin are shorter, at this quantile of them.
double LessAt(double quantile, const DollyOutcome& ours, const DollyOutcome& base);

}  // namespace mr::sim
