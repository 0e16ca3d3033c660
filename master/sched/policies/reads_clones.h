// Which stages read the outputs of clones from copies that they are told (delay_assignment.h), and which from the
// directory.
#pragma once

#include "master/sched/state.h"

namespace mr::sched {

// The attempts of this stage may be told what to read: they would be told of kMostTold outputs at most, in sum over
// its tasks. Above it one copy of each output is enough. Estimated where the stage is not planned yet.
bool MayBeTold(const Job& job, uint32_t stage);
// Of some stage that reads this one.
bool ReadersMayBeTold(const Job& job, uint32_t stage);
// It reads outputs of tasks that run, or ran, as clones: its attempts are to be told which copies.
bool ReadsClones(const Job& job, uint32_t stage, const Task& task);

}  // namespace mr::sched
