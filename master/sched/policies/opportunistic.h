// opportunistic: clones of small jobs' tasks on slots that nothing else could use, given back the moment something
// can. Nobody's paper: Dolly (NSDI 2013) clones within a budget, 5 % of the cluster, and of 16 slots that is not one.
//
//   lend:      on an idle offer, where nothing that waits could take the slot: the task with the fewest attempts,
//              of these the least advanced, on a worker that runs none of them and has less than `fill` of its slots
//              in use, or none; on the emptiest that may: attempts on one machine slow each other
//   give back: in the step in which a first attempt, a retry or a clone of the budget waits that could use the slot,
//              as many as wait; where the input of what waits is, else what only adds a copy to an output, else the
//              least advanced, the youngest of equals. Nobody is charged
//
// Of phases of at most `tasks` tasks without side effects, whose tasks dolly does not clone, once their inputs are
// there. Such a clone costs no budget. It keeps no task from a copy by speculation, since it may be gone in a moment;
// a task with a copy is not cloned so. An attempt that has become the only one of its task is no clone any more, and
// stays.
//
// While a stage that it does not serve has attempts that may be copied, some workers keep their room for that
// (place.h), as they do for it from attempts that wait.
//
// A task that would only wait for its inputs (early) takes a slot back, too, where it would have had it, had nothing
// been lent: whoever places work sees lent slots as free ones when it keeps some for copies (place.h).
//
// With delay_assignment in the list each reader is told a copy, as readers of dolly's clones are.
//
// Parameters: attempts (2: of a task, all counted; 3 at most), tasks (50: Dolly's bins 1 and 2, table 3), fill (.5, a
// guess: with the clone at most this share of a worker's slots is in use, or the clone's alone).
#pragma once

#include <memory>

#include "master/sched/pipeline.h"
#include "master/sched/policy.h"

namespace mr::sched {

Result<std::unique_ptr<Policy>> MakeOpportunistic(PolicyParams* params);

}  // namespace mr::sched
