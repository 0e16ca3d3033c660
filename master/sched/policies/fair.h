// fair: slots in proportion to the weights of queues, and in a queue alike between its jobs.
//
// After Hadoop's Fair Scheduler (Zaharia et al., EuroSys 2010, section 2; FairSharePolicy and
// ComputeFairShares in Hadoop). Of a queue q with weight w, min share m, max share x, running r:
//   next     = the queue with least r/m among those with r < m, else with least r/w, where r < x
//   share(q) = clamp(R w, min(m, d), min(x, d)), R such that the shares add up to all slots; d = r
//              where the queue has nothing to launch, else no bound
//   preempts = r < m for min_share_timeout, or r < share/2 for fair_share_timeout: the youngest
//              attempts of the queue furthest above its share end, as far as it stays at its share
// In a queue the higher priority first, then the job with fewest slots, as Hadoop does for its pools
// (in arrival order one long job would starve all others of its queue), then arrival.
// reduces=greedy is the baseline of the Coupling Scheduler's paper: maps fair by map slots, reduces in
// order of arrival on whatever slots are left, and no preemption; reduces=fair, the default, counts both
// kinds of slot as one.
// slowstart: a job's reduces may wait on slots once this share of its maps is done (0.05, Hadoop's
// mapreduce.job.reduce.slowstart.completedmaps), but only on slots that no task with inputs can use.
// Departs from it: priorities are an order, not weights; waiting reduces are taken back as in fifo;
// stages with side effects are not preempted; preemption is on. Jobs with a guarantee (jockey) come before the queues
// (guarantees.h), and what they hold counts for no queue; one that has tasks with inputs and is below its guarantee for
// guarantee_timeout gets the slots of what is youngest among spare attempts, then of queues, but for what they are to
// have at least (evict.h; not with greedy reduces, where nothing is preempted); where they went to others, it waits
// twice as long the next time.
#pragma once

#include <memory>

#include "master/sched/pipeline.h"
#include "master/sched/policy.h"

namespace mr::sched {

// reduces=fair|greedy, slowstart=0..1, min_share_timeout, fair_share_timeout and guarantee_timeout in seconds, 0 =
// never.
Result<std::unique_ptr<Policy>> MakeFair(PolicyParams* params);

}  // namespace mr::sched
