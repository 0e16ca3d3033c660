// random_order: runs the tasks of a stage in random order. An example of a new policy: copy this folder.
//
// It changes a draft. An earlier policy places work; this one exchanges the first attempt in the draft for one of
// another task. Both tasks are of one stage, and equal in all that the earlier policy may have looked at. They have
// their inputs and never ran. Either both or neither have their input on the worker.
//
//   seen = `seen` tasks that never ran, from a random number on; the lowest number follows the highest
//   task = one of the drafted one and the equal ones that were seen, each with the same chance
//
// Departures: racks count as far, so list it before `delay`, which then judges the task that was drawn. Retries,
// clones, attempts that wait for inputs and launches with by_bind stay as they are. The order of jobs and stages stays,
// too.
#pragma once

#include <memory>

#include "master/sched/pipeline.h"
#include "master/sched/policy.h"

namespace mr::sched {

// Parameters: seen=64, the tasks of a stage that one launch looks at.
Result<std::unique_ptr<Policy>> MakeRandomOrder(PolicyParams* params);

}  // namespace mr::sched
