// Computes the fair share of a job, whatever policy places the work, for policies that launch more than first attempts.
#pragma once

#include "master/sched/state/state.h"

namespace mr::sched {

// Returns the slots that the tasks of this phase, clones counted, may take within the job's fair share; below 0 if the
// job is above it. The queue's share is its part by weight among busy queues, less what others' min shares take of it,
// at most its max share. The job's share is that divided by the jobs of the queue. Both bind: of all slots, and of
// those for the phase's kind. The job holds c for each task that its phases are granted, else its attempts with a slot,
// also on lent slots. Requires: a running job. Cost: queues, and phases of the job.
double RoomInShare(const State& state, const StageId& phase);

// Returns true if the job's fair share of all slots is enough for all that it runs and could launch now. Requires: a
// running job. Cost: queues, and phases of the job.
bool FitsInShare(const State& state, const Job& job);

}  // namespace mr::sched
