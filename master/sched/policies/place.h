// What the policies that place work decide alike: which task of a stage goes to a worker (choose.h), and which
// waiting attempts give their slots back. The order of stages and jobs is the policy's own.
#pragma once

#include "master/sched/plan.h"
#include "master/sched/policies/choose.h"
#include "master/sched/policies/walks.h"
#include "master/sched/trigger.h"

namespace mr::sched {

// Launches what `choose` says; false where that is nothing or is refused.
bool LaunchOf(const State& state, const StageId& stage, const SlotOffer& offer, Choose choose, Plan* plan);
// From the first stage by priority and arrival from which something can be launched, over the kinds
// in which the worker has room (all, or reduces only). walks: of this policy; may be null.
bool LaunchInOrder(const State& state, const SlotOffer& offer, bool ready, bool with_maps, Choose choose, Plan* plan,
                   Walks* walks = nullptr);

// As many waiting attempts of the same job as there are tasks of this stage without an attempt, less
// those that are on their way back already; the latest first.
void TakeBackFor(const StageId& stage, const State& state, Plan* plan);
// Whether the stage lacks the slot of this attempt, and could use it.
bool SlotHelps(const State& state, const AttemptId& id, const StageId& stage);

}  // namespace mr::sched
