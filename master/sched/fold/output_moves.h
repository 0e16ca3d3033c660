// Moves outputs off workers that an operator drains: decides which output is replicated next, and on which worker.
//
// An output is moved if a task that has not committed reads it, a leaving worker has a replica of it, and no worker
// that stays has one or was asked for one. The replica on the leaving worker stays readable until that worker stops.
//
// Pace: kMovesPerTarget requests per target and kMovesPerSource per leaving worker at a time, so that a drain does not
// take the network from running shuffles. The answer to one request starts the next. If a worker cannot make a replica,
// others are asked; after kMoveTries failures within kMoveRetry the output waits until that time is over.
//
// Pure. All it remembers is facts of kMovesOwner: leaving workers (state/leaving.h), and failed tries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/time.h"
#include "master/sched/event.h"
#include "master/sched/plan.h"
#include "master/sched/state/leaving.h"
#include "master/sched/view.h"

namespace mr::sched {

// Guesses. Per target: as many as a worker copies at a time (worker/shuffle/replicate.h). Per source: four targets
// at once, and readers still get most of the source's link.
inline constexpr uint32_t kMovesPerTarget = 2, kMovesPerSource = 8;
// Guesses. A full disk or a broken link may be well again after half a minute. After three workers failed, the output
// itself may be unreadable.
inline constexpr size_t kMoveTries = 3;
inline constexpr Duration kMoveRetry = Seconds(30);
// How long outputs that found no target wait until all are examined again, unless an event comes first. A guess.
inline constexpr Duration kMovesLook = Seconds(1);

// Changes of one step that may give outputs to move.
struct MovesDue {
  bool look = false;            // workers, replicas or needs changed: examine all outputs of leaving workers
  std::vector<TaskId> outputs;  // outputs that were committed on a draining worker, or replicated on request
  bool any() const { return look || !outputs.empty(); }
};

// Adds the requests for replicas, and what must be remembered, to the plan. not_made: requests that failed in this
// step. ended: jobs that ended in it.
// Cost: without a leaving worker, one lookup. Otherwise the outputs of leaving workers: all of them after `look`, else
// those behind the outputs of `due`, until the limits are reached.
void MoveOutputs(const View& view, const MovesDue& due, const std::vector<ReplicaNotMade>& not_made,
                 const std::vector<JobId>& ended, Plan* plan);

// Returns true if a worker has failed to make a replica of the task's present output for a drain, and none was made
// since.
bool MoveHasFailed(const State& state, const TaskId& id);

}  // namespace mr::sched
