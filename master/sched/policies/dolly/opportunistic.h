// opportunistic: clones of small jobs' tasks on idle slots, given back as soon as other work can use them. It is not
// from a paper: Dolly (NSDI 2013) clones within a budget of 5 % of the cluster, which is less than one slot of 16.
//
//   lend:      on an idle offer, if no waiting task could take the slot: the task with the fewest attempts, of these
//              the least advanced, on a worker that runs none of them and has less than `fill` of its slots in use,
//              or none; the emptiest such worker, as attempts on one machine slow each other
//   give back: in the step in which a first attempt, a retry or a clone of the budget waits that could use the slot,
//              as many as wait: where their input is, else attempts that only add a replica to an output, else the
//              least advanced, the youngest of equals; not counted as failures
//
// It serves phases of at most `tasks` tasks without side effects that dolly does not clone, once their inputs are
// there. Such a clone costs no budget. Its task may still get a speculative attempt, since the clone may end at any
// moment. A task with a speculative attempt gets no such clone. An attempt that has become the only one of its task is
// no clone any more, and stays.
//
// A stage that it does not serve may have attempts that need speculation. Then some workers keep room for that
// (place.h), from clones as from attempts that wait.
//
// A task that would only wait for its inputs (early) takes a slot back, too, if it would have it without lending.
// Policies that place work count lent slots as free when they keep room for speculation (place.h).
//
// With `worth`, phases get clones only where these shorten phases of their size enough for the slot time that they take
// (idle_worth.h). With `share`, clones take at most that share of all slot time (clone_credit.h).
//
// With delay_assignment in the list each reader is bound to a replica, as readers of dolly's clones are.
//
// With network=on, phases that mostly copy get none, and no phase does while reads of splits from other workers are
// slow: clones would read beside the attempts that they should help (network_bound.h).
//
// Parameters: attempts (2: of a task, all counted; 3 at most), tasks (50: Dolly's bins 1 and 2, table 3), fill (.5, a
// guess). With the clone at most the share `fill` of a worker's slots is in use, or the clone is alone. worth (0: off;
// seconds of a phase saved per slot-second), share (0: off; of all slot time), network (off).
#pragma once

#include <memory>

#include "master/sched/pipeline.h"
#include "master/sched/policy.h"

namespace mr::sched {

Result<std::unique_ptr<Policy>> MakeOpportunistic(PolicyParams* params);

}  // namespace mr::sched
