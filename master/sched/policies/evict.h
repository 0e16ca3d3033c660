// Whose attempts end when slots are owed to somebody: first those on spare slots (guarantees.h), of the job with the
// latest deadline; then those of the queue that is furthest above its share, as far as it stays at it; for a guarantee,
// of any queue, as far as it keeps its min share. The youngest first, and only where the slot helps and none is on its
// way already. Stages with side effects are spared. Cost: attempts of jobs with spare slots and of queues that give,
// until enough of them end: not for each event.
#pragma once

#include <map>
#include <vector>

#include "master/sched/plan.h"

namespace mr::sched {

// For a queue or for a job; never more slots than `most`, nor than tasks that wait for one.
struct Wanted {
  const Queue* queue = nullptr;
  const Job* job = nullptr;
  uint32_t most = 0;
  uint32_t tasks = 0;  // with inputs and without an attempt, of `stages`
  std::vector<StageId> stages;
  void Add(const Job& job);
};

// Slots of attempts that end already, as far as they are of use.
uint32_t SlotsComing(const State& state, const Wanted& wanted);

// shares: of queues, by number, in slots that are within no guarantee.
void Evict(const State& state, const Wanted& wanted, const std::map<uint64_t, double>& shares, Plan* plan);

}  // namespace mr::sched
