// Delay assignment: which copy of each upstream output each clone of a reading task reads (Ananthanarayanan et al.:
// Attack of the Clones, NSDI 2013, section 5; papers.md 1.2 and 1.3).
//
// Each clone waits up to omega, from the first copy of an output on, for a copy that no other clone of its task
// reads; after that it reads a finished copy with others, the one with the fewest readers. Copies that are not
// finished by then are not waited for: the attempts that make them are ended. omega = 0 is contention cloning
// (CC: all read the first copy), omega = inf contention avoidance cloning (CAC: a copy for each).
// Binds readers whose upstream tasks run as clones; all others read what the directory has, and so does a stage that
// would be told too much (reads_clones.h).
//
// Parameter: omega (auto, inf or a time). auto: by bin of the job's size, the omega that made the mean task
// time of completed jobs' samples least (omega.h), anew each `refresh` (1h).
#pragma once

#include <memory>

#include "master/sched/pipeline.h"
#include "master/sched/policy.h"

namespace mr::sched {

Result<std::unique_ptr<Policy>> MakeDelayAssignment(PolicyParams* params);

}  // namespace mr::sched
