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
// min_age, skew_check (on|off).
//
// Departs from the paper:
// - Percentiles are over running and finished attempts of the stage; of workers, over those on
//   which something of the job ran: nothing is known against the others.
// - T_running ends with the last report, plus whatever has passed without one since one was due.
// - An attempt without byte totals has no score: its rate is at most 1 / T_running, so it is slow
//   once it ran longer than slow ones took, and as much again is expected of it.
// - Of 256 attempts with the smallest rates and 64 with the earliest starts, not of all.
#pragma once

#include <memory>

#include "master/sched/pipeline.h"

namespace mr::sched {

Result<std::unique_ptr<Policy>> MakeLate(PolicyParams* params);

}  // namespace mr::sched
