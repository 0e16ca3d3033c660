// Decides which stages read the outputs of clones from replicas to which they are bound (delay_assignment.h), and which
// by the directory.
#pragma once

#include "master/sched/state/state.h"

namespace mr::sched {

// Returns whether attempts of this stage may be bound: to at most kMostTold outputs, in sum over its tasks. Above it
// one replica of each output is enough. Estimated if the stage is not planned yet.
bool MayBeTold(const Job& job, uint32_t stage);
// Returns whether attempts of some stage that reads this one may be bound.
bool ReadersMayBeTold(const Job& job, uint32_t stage);
// Returns whether this task reads outputs of tasks that run, or ran, as clones. Its attempts are then bound.
bool ReadsClones(const Job& job, uint32_t stage, const Task& task);

}  // namespace mr::sched
