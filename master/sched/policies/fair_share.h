// What fairness gives a job, whatever places the work: for policies that use it for more than first attempts.
#pragma once

#include "master/sched/state.h"

namespace mr::sched {

// Slots that the tasks of this phase may take, their clones counted, so that the job stays within its fair share; below
// 0 where it is above it. The share: of all slots, and of those that can run the phase's kind, the weight of its queue
// over those of all that are busy, less what others' min shares take of it, at most its max share; over the jobs of the
// queue. What the job holds: c for each task that its phases are granted, else attempts with a slot, those on lent
// slots among them. REQUIRES a running job. Cost: queues, and phases of the job.
double RoomInShare(const State& state, const StageId& phase);

}  // namespace mr::sched
