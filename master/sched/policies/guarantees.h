// Slots that jobs are guaranteed (Job::share, which jockey sets), as fair serves them (Jockey, EuroSys 2012, 2.2:
// guaranteed and spare tokens). A job that holds fewer than its guarantee and has tasks with inputs comes before all
// queues, the earliest deadline first, and those that are late already last: they are to make no other late. What it
// does not use, others have; what it holds beyond it are spare slots: it gets them behind all queues, and they are taken
// away first. Lower priority means just that: a task on a spare slot runs as fast as others.
#pragma once

#include <map>
#include <string>

#include "master/sched/plan.h"
#include "master/sched/policies/choose.h"

namespace mr::sched {

inline bool AtGuarantee(const Job& job) { return job.share > 0 && job.holding >= job.share; }
inline bool BelowGuarantee(const Job& job) { return job.holding < job.share; }

// Launches a task of a job below its guarantee. kWaits: none here, though there is such a job that has tasks with
// inputs: a slot that is offered for its data only is not for others then.
enum class Served { kNothing, kLaunched, kWaits };
Served LaunchGuaranteed(const SlotOffer& offer, const State& state, Instant now, Choose choose, Plan* plan);
// Launches a task with inputs of a job at its guarantee.
bool LaunchSpare(const SlotOffer& offer, const State& state, Choose choose, Plan* plan);

// Slots that running jobs with a guarantee hold (with greedy reduces, for maps, as those queues count): of each queue by
// number, and the part within the guarantees.
struct GuaranteedUse {
  std::map<uint64_t, uint32_t> of_queue;
  uint32_t within = 0;
  uint32_t Of(const Queue& q) const {
    const auto it = of_queue.find(q.number);
    return it == of_queue.end() ? 0 : it->second;
  }
};
GuaranteedUse UseOfGuarantees(const State& state);

}  // namespace mr::sched
