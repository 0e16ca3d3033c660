// Chooses the attempts that end when slots are owed to a queue or a job:
// 1. With Sharing::spare_last: attempts on spare slots (guarantees.h), of the job with the latest deadline first.
// 2. Attempts of the queue that is furthest above its share, as long as it keeps that share. For a guarantee: of any
//    queue, as long as it keeps its min share, but not of jobs whose fair share is enough for all that they ask for.
// The youngest ends first, and only if the slot helps and none is on its way already. Attempts of stages with side
// effects are never ended. Cost: attempts of jobs with spare slots and of queues above their share, until enough of
// them end; too much for each event.
#pragma once

#include <map>
#include <vector>

#include "master/sched/plan.h"

namespace mr::sched {

// Slots wanted for a queue or a job: at most `most`, and no more than there are waiting tasks.
struct Wanted {
  const Queue* queue = nullptr;
  const Job* job = nullptr;
  uint32_t most = 0;
  uint32_t tasks = 0;  // of `stages`, with inputs and without an attempt
  std::vector<StageId> stages;
  Instant not_before;  // attempts of queues that were launched before it have done too much to be ended; 0: none
  void Add(const Job& job);
};

// Returns the slots of ending attempts that are of use.
uint32_t SlotsComing(const State& state, const Wanted& wanted);

// Drafts the evictions. Returns their number. shares: by queue number, in slots that are within no guarantee.
uint32_t Evict(const State& state, const Wanted& wanted, const std::map<uint64_t, double>& shares, Plan* plan);

}  // namespace mr::sched
