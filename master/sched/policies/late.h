// late: copies of the attempts that would end last, in a limited number, and not on slow workers.
//
// Zaharia et al., "Improving MapReduce Performance in Heterogeneous Environments", OSDI 2008.
//   rate = score / T_running        time_left = (1 - score) / rate
// On a worker that asks, while running copies < SpeculativeCap: nothing if the worker's total
// progress (scores of what ran or runs there, of this job) is below the SlowNodeThreshold
// percentile; else, of the attempts that ran for min_age, have no copy, and whose rate is below the
// SlowTaskThreshold percentile, the one with the largest time_left.
//
// Parameters: cap (SpeculativeCap: share of slots, at least one), slow_task, slow_node (shares),
// min_age, skew_check (on|off), gain, estimator (score|phases). gain=G: only where time_left is
// more than G times what the task would take anew, its inputs being there (Hadoop's later
// estimator, [H2] of papers.md 3.1, has 1), so that min_age may be short; 0, the default, does not
// ask. estimator=phases (section 4.4 names it as what would mend an order that is wrong where
// progress slows down): of a reduce, the rest of its phase at its rate in this phase, and for the
// phases to come what they take other attempts of the stage.
//
// Departs from the paper:
// - Percentiles are over running and finished attempts of the stage; of workers, over those on
//   which something of the job ran: nothing is known against the others.
// - T_running ends with the last report, plus whatever has passed without one since one was due.
// - An attempt whose input is known and that has not reported has a score of 0: none is slower. One that
//   has no byte totals has no score: its rate is at most 1 / T_running, so it is slow once it ran longer
//   than slow ones took, and as much again is expected of it. Likewise, once others have finished, one that has
//   taken all of its input and still runs: a command that was piped a small split has a score of 1 at once.
// - Of 256 attempts with the smallest rates and 64 with the earliest starts, not of all.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "master/sched/pipeline.h"

namespace mr::sched {

// Seconds to the end of an attempt that is in `phase` for so many seconds and has done this share of
// it. usual: what each phase takes others, whole; 0 = not known. Nothing where a phase that counts is
// not known.
std::optional<double> LeftByPhases(const std::vector<double>& usual, size_t phase, double share, double seconds);

Result<std::unique_ptr<Policy>> MakeLate(PolicyParams* params);

}  // namespace mr::sched
