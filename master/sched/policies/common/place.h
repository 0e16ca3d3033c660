// Common decisions of the policies that place work. They choose the task of a stage for a worker (choose.h), and the
// waiting attempts that give their slots back. The order of stages and jobs is the policy's own.
#pragma once

#include "master/sched/plan.h"
#include "master/sched/policies/common/choose.h"
#include "master/sched/policies/common/walks.h"
#include "master/sched/trigger.h"

namespace mr::sched {

// Launches the task that `choose` returns. Returns false if there is none or the launch is refused.
bool LaunchOf(const State& state, const StageId& stage, const SlotOffer& offer, Choose choose, Plan* plan);
// Launches from the first stage by priority and arrival that can launch something. Considers the kinds in which the
// worker has room (all, or reduces only). walks: of this policy; may be null.
bool LaunchInOrder(const State& state, const SlotOffer& offer, bool ready, bool with_maps, Choose choose, Plan* plan,
                   Walks* walks = nullptr);

// Takes back waiting attempts of the same job, the latest first. Takes as many as this stage has ready tasks without an
// attempt, less those on their way back already.
void TakeBackFor(const StageId& stage, const State& state, Plan* plan);
// Returns whether the stage lacks the slot of this attempt and could use it.
bool SlotHelps(const State& state, const AttemptId& id, const StageId& stage);

}  // namespace mr::sched
