// delay_assignment: chooses the replica of each upstream output that each clone of a reading task reads.
//
// Dolly (Ananthanarayanan et al.: Attack of the Clones, NSDI 2013), 5.1 and 5.2. From the first replica of an output
// on, each clone waits up to omega for a replica that no other clone of its task reads. After omega it shares the
// finished replica with the fewest readers, and attempts that would still make replicas are ended.
//   omega = 0      contention cloning (CC): all read the first replica
//   omega = inf    contention avoidance cloning (CAC): a replica for each
// Departure: only readers whose upstream tasks run as clones are bound. All others use the directory, and so does a
// stage that would need too many bindings (reads_clones.h).
//
// Parameters: omega (auto, inf or a time), refresh (1h). auto: per bin of the job's size, the omega with the least mean
// task time over samples of completed jobs (omega.h). It is chosen anew each `refresh`.
#pragma once

#include <memory>

#include "master/sched/pipeline.h"
#include "master/sched/policy.h"

namespace mr::sched {

// Ends attempts that only make further replicas, and readers that wait for a bind, since no policy binds reads any
// more. The readers' tasks run again and read the directory.
void DropDelayAssignment(const View& view, Plan* plan);

Result<std::unique_ptr<Policy>> MakeDelayAssignment(PolicyParams* params);

}  // namespace mr::sched
