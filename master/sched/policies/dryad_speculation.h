// dryad_speculation: copies of whatever still runs at the end of a phase, oldest first.
//
// The backup tasks of MapReduce (Dean, Ghemawat, OSDI 2004, 3.6) and Dryad, as Mantri (Ananthanarayanan
// et al., OSDI 2010) has them for a baseline: when all but a few tasks of a phase are done, each that
// still runs gets a copy. The papers say no share; 0.95 is that of the cross-check in our notes.
//
// Parameters: done (0.95: share of the stage's tasks, rounded down, but one at least), min_age (0s),
// skew_check (on|off).
#pragma once

#include <memory>

#include "master/sched/pipeline.h"

namespace mr::sched {

Result<std::unique_ptr<Policy>> MakeDryadSpeculation(PolicyParams* params);

}  // namespace mr::sched
