// Serves guaranteed slots (Job::share, which jockey sets) for fair: Jockey (EuroSys 2012), 2.2, guaranteed and spare
// tokens. A job that holds fewer slots than its guarantee and has tasks with inputs comes before all queues (but see
// fair.h). The earliest deadline is first; jobs that are late already come last, as they should make no other late.
// Others use what a job leaves of its guarantee. What it holds beyond the guarantee are spare slots. With
// Sharing::spare_last it gets them after all queues and loses them first, which is all that lower priority means: a
// task on a spare slot runs as fast as others. Else it gets them as one of its queue. Cost of an offer: a look at the
// jobs that want it (State::wanting), up to the one that gets it.
#pragma once

#include "master/sched/plan.h"
#include "master/sched/policies/common/choose.h"

namespace mr::sched {

// Launches a task of a job below its guarantee. kWaits: such a job has tasks with inputs, but none is launched here. In
// a local-only offer other jobs must then not take the slot.
enum class Served { kNothing, kLaunched, kWaits };
Served LaunchGuaranteed(const SlotOffer& offer, const State& state, Instant now, Choose choose, Plan* plan);
// Launches a task with inputs of a job at its guarantee. Requires: Sharing::spare_last.
bool LaunchSpare(const SlotOffer& offer, const State& state, Choose choose, Plan* plan);

}  // namespace mr::sched
