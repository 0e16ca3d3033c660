// Checks the spec of a job as a whole, so that later code need not check it again. Pure.
#pragma once

#include "common/base/status.h"
#include "common/model/job_spec.h"
#include "master/sched/model.h"

namespace mr::master {

// Returns the spec in the form that the planner and the scheduler read: it names a queue, its output has no '/' at its
// end, times are at most a year, and partitions are split only where a late number of tasks can be. Looks at the spec
// alone, not at files. A checked spec is returned unchanged.
// Errors: kInvalidArgument that names all faults (at most ten), kRejected for schemes that are not supported.
Result<JobSpec> CheckSpec(JobSpec spec);

// Requires: a checked spec.
sched::JobGraph GraphOf(const JobSpec& spec);

}  // namespace mr::master
