// Two parts of mantri_restart that decide nothing about copies: which of the waiting tasks starts, and what is
// said of an attempt that has more to read than others.
#pragma once

#include "master/sched/plan.h"

namespace mr::sched {

// Puts a task with a larger input, as near to it, in the place of the one that a policy drafted: the largest
// first (Graham: within 4/3 - 1/(3 s) of the best on s slots, instead of 2 - 1/s).
void StartLargest(const Launch& drafted, const State& state, Plan* plan);

// Plan::Spare for an attempt that runs longer than others, and does so for its input only.
void NoteSkew(const View& view, const Stage& stage, const AttemptId& id, Plan* plan);

}  // namespace mr::sched
