// Slots that jobs are guaranteed (Job::share, which jockey sets), as fair serves them (Jockey, EuroSys 2012, 2.2:
// guaranteed and spare tokens). A job that holds fewer than its guarantee and has tasks with inputs comes before all
// queues, the earliest deadline first, and those that are late already last: they are to make no other late. What it
// does not use, others have; what it holds beyond it are spare slots: it gets them behind all queues, and they are
// taken away first. Lower priority means just that: a task on a spare slot runs as fast as others. An offer costs a
// look at the jobs that want it (State::wanting), up to the one that gets it, however many are content.
#pragma once

#include "master/sched/plan.h"
#include "master/sched/policies/choose.h"

namespace mr::sched {

// Launches a task of a job below its guarantee. kWaits: none here, though there is such a job that has tasks with
// inputs: a slot that is offered for its data only is not for others then.
enum class Served { kNothing, kLaunched, kWaits };
Served LaunchGuaranteed(const SlotOffer& offer, const State& state, Instant now, Choose choose, Plan* plan);
// Launches a task with inputs of a job at its guarantee.
bool LaunchSpare(const SlotOffer& offer, const State& state, Choose choose, Plan* plan);

}  // namespace mr::sched
