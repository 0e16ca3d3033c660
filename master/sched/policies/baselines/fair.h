// fair: slots in proportion to the weights of queues, and in a queue alike between its jobs.
//
// Hadoop's Fair Scheduler (Zaharia et al., EuroSys 2010, section 2; FairSharePolicy and ComputeFairShares in Hadoop).
// For a queue q with weight w, min share m, max share x, running r:
//   next     = the queue with least r/m among those with r < m, else with least r/w, where r < x
//   share(q) = clamp(R w, min(m, d), min(x, d)), R such that the shares add up to all slots; d = r
//              if the queue has nothing to launch, else no bound
//   preempts = r < m for min_share_timeout, or r < share/2 for fair_share_timeout: the youngest
//              attempts of the queue furthest above its share end, as long as it keeps its share
// In a queue the order is by priority, then by fewest slots, as in Hadoop's pools, then by arrival. By arrival alone
// one long job would starve all others of its queue.
//
// Parameters:
// - reduces. greedy is the baseline of the Coupling Scheduler's paper. Maps are fair by map slots, reduces take the
//   slots left in order of arrival, and nothing is preempted. fair, the default, counts both kinds of slot as one.
// - slowstart (0.05, Hadoop's mapreduce.job.reduce.slowstart.completedmaps): a job's reduces may wait on slots once
//   this share of its maps is done. They wait only on slots that no task with inputs can use.
// - min_share_timeout, fair_share_timeout, guarantee_timeout.
// Departures:
// - Priorities are an order, not weights. Waiting reduces are taken back as in fifo. Preemption is on, but not for
//   stages with side effects.
// - Jobs with a guarantee (jockey) come before the queues (guarantees.h). Their guaranteed slots count for no queue.
//   With spare=fair a job whose fair share is enough for all that it asks for has its turn before them, and loses
//   nothing to them by eviction: guarantees take their slots from large jobs.
//   spare=fair, the default: beyond it they have their turn like other jobs, so that a deadline makes no job slower.
//   spare=last: behind all queues, as in Jockey's paper, so that they take no more than their deadlines need.
// - A job with ready tasks that is below its guarantee for guarantee_timeout gets slots by eviction (evict.h). The
//   youngest attempts of queues end first, down to their min shares; with spare=last, spare attempts before them. With
//   spare=fair none ends that has run for more than twice the time for which the job has been below. With greedy
//   reduces nothing is evicted. If the slots went to others, it waits twice as long the next time.
#pragma once

#include <memory>

#include "master/sched/pipeline.h"
#include "master/sched/policy.h"

namespace mr::sched {

inline constexpr char kFair[] = "fair";

// Parameters: reduces=fair|greedy, spare=fair|last, slowstart=0..1; min_share_timeout, fair_share_timeout and
// guarantee_timeout in seconds, 0 = never.
Result<std::unique_ptr<Policy>> MakeFair(PolicyParams* params);

}  // namespace mr::sched
