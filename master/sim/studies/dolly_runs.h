// Runs of Dolly's workloads, and the measurements for its figures.
#pragma once

#include <array>
#include <vector>

#include "master/sched/job_bins.h"
#include "master/sim/studies/dolly_setups.h"
#include "master/sim/studies/report.h"

namespace mr::sim {

// Largest tasks of the bins that Dolly calls small: 1 to 10 tasks, and 11 to 50.
inline constexpr uint32_t kFirstBin = sched::kBinEnds[0], kSmallJob = sched::kBinEnds[1];
inline constexpr size_t kAllBins = kBinNames.size() - 1;

// A read of one replica by a bound reader.
struct TimedRead {
  double at = 0, seconds = 0, bytes = 0;
  uint32_t readers = 1;  // readers of the replica, this one included
};
// The time from an output's first replica to its second.
struct ReplicaGap {
  double at = 0, seconds = 0;
};
// Samples for estimates about clones.
struct Samples {
  std::vector<TimedRead> reads;
  std::vector<ReplicaGap> gaps;
};

struct DollyOutcome {
  std::vector<double> seconds;                          // completion per job
  std::vector<uint32_t> tasks;                          // per job
  std::array<double, kBinNames.size()> jobs{}, mean{};  // mean: seconds; the last entry is over all jobs
  double small = 0, large = 0;                          // mean seconds of the first two bins, and of the others
  double busy = 0, utilisation = 0;                     // slot-seconds; percent
  double most_small = 0;                                // most slots that small jobs held at once, in percent
  double smallest90 = 0;              // percent of the slot-seconds that the smallest 90 % of jobs took
  double spread50 = 0, spread95 = 0;  // median / least progress rate in a phase, at these quantiles of phases
  double budgeted = 0, lent = 0;      // slot-seconds of the budget's clones and strands; of clones on idle slots
  double small_share = 0;             // percent of the clones' slot-seconds in small jobs
  double preempted = 0;               // percent of attempts: clones ended for a smaller job
  Samples samples;
};

// Runs it. Phases count in small jobs; with `cloned` only those with clones. Errors: kInternal: the simulation stopped.
Result<DollyOutcome> RunDolly(Experiment e, bool cloned);

// Returns the smallest reduction of a bin's mean completion, in percent.
double LeastOfBins(const DollyOutcome& ours, const DollyOutcome& base);
// Returns by how many percent `ours` is less than `base`.
double Less(double ours, double base);
// Returns the reduction of the bins' mean completion, weighed by their jobs. Dolly's averages must be this: .82 x 46 %
// and .18 of some 24 % are 42 %; .61 x 37 % and .39 of some 11 % are 27 %. The mean over all jobs depends mostly on the
// few jobs with thousands of tasks.
double LessByBin(const DollyOutcome& ours, const DollyOutcome& base);
// Returns the reduction of the completion of jobs in the first bin, at this quantile.
double LessAt(double quantile, const DollyOutcome& ours, const DollyOutcome& base);

}  // namespace mr::sim
