// Workers that an operator drains (OutputsLeaving), and outputs that would go with them.
#pragma once

#include <vector>

#include "common/base/ids.h"
#include "master/sched/state/state.h"

namespace mr::sched {

// Owner of the facts and of the timer of this file and of fold/output_moves.h. No policy may have this name.
inline constexpr char kMovesOwner[] = "output_moves";

// Sets whether an operator drains the worker. It is a fact, so that states without a drain keep their digest and image.
void SetLeaving(State* state, WorkerId worker, bool on);

// Returns true if an operator drains the worker. Worker::draining is also true of a worker that is away, distrusted or
// about to stop.
bool Leaves(const State& state, WorkerId worker);

// Returns the live workers that an operator drains, by id.
std::vector<const Worker*> LeavingWorkers(const State& state);

// Returns true if the worker is live and not draining.
inline bool Stays(const Worker* worker) { return worker != nullptr && worker->alive && !worker->draining; }

// Returns true if another worker than `but` that stays has a replica of the task's committed output.
bool StaysElsewhere(const State& state, const Task& task, WorkerId but);

// Returns true if a worker that stays was asked for a replica of the task's present output and has not answered yet.
bool IsBeingMoved(const State& state, const TaskId& id);

}  // namespace mr::sched
