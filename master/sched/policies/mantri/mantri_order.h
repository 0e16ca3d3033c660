// Orders waiting tasks for mantri_restart, and reports attempts that have more to read than others. Neither starts
// further attempts. Mantri (OSDI 2010), section 5.
#pragma once

#include "master/sched/plan.h"

namespace mr::sched {

// Replaces the drafted task by one with a larger input that is as near to it: the largest first. On s slots that is
// within 4/3 - 1/(3 s) of the best (Graham), instead of 2 - 1/s.
void StartLargest(const Launch& drafted, const State& state, Plan* plan);

// Drafts Plan::Spare for an attempt that runs longer than others only because of its input.
void NoteSkew(const View& view, const Stage& stage, const AttemptId& id, Plan* plan);

}  // namespace mr::sched
