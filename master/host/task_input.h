// The bytes that a task reads: of its splits, and of its slices of the outputs of earlier stages.
#pragma once

#include <cstdint>

#include "master/core/jobs.h"
#include "master/sched/state/state.h"

namespace mr::master {

// Returns the size of a task's input. Outputs of more than 64 partitions keep their sizes on their workers: then it is
// what the operator of its newest attempt has taken, or the planner's estimate if it has taken nothing.
// The same holds where it has more slices of outputs than are left in *slices, which it takes from.
// task: the scheduler's; null: not known, then 0. Cost: the outputs that it reads.
uint64_t InputBytes(const JobView& job, uint32_t stage, const sched::Task* task, uint64_t* slices);

}  // namespace mr::master
