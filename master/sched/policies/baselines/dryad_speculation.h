// dryad_speculation: speculative attempts of all tasks that still run at the end of a phase, oldest first.
//
// The backup tasks of MapReduce (Dean, Ghemawat, OSDI 2004, 3.6) and Dryad, a baseline of Mantri (Ananthanarayanan et
// al., OSDI 2010). Each task that still runs gets a speculative attempt once
//   committed tasks >= max(1, floor(done * tasks))
// The papers give no share. 0.95 is that of a public simulation of them ("Deep dive: stragglers and speculation").
//
// Parameters: done (0.95: share of the stage's tasks), min_age (0s), skew_check (on|off).
#pragma once

#include <memory>

#include "master/sched/pipeline.h"

namespace mr::sched {

Result<std::unique_ptr<Policy>> MakeDryadSpeculation(PolicyParams* params);

}  // namespace mr::sched
