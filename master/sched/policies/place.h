// What the policies that place work decide alike: which task of a stage goes to a worker, and which
// waiting attempts give their slots back. The order of stages and jobs is the policy's own.
#pragma once

#include <optional>

#include "master/sched/plan.h"
#include "master/sched/trigger.h"

namespace mr::sched {

struct Choice {
  uint32_t task = 0;
  Reason reason;
};
using Choose = std::optional<Choice> (*)(const State&, const StageId&, const SlotOffer&);

// A task whose input the worker holds.
std::optional<Choice> ChooseLocal(const State& state, const StageId& id, const SlotOffer& offer);
// A task with all of its inputs: one that ran before, else local, in the rack, any.
std::optional<Choice> ChooseReady(const State& state, const StageId& id, const SlotOffer& offer);
// A task that will wait for inputs on its slot; none where it would take the room of a task of the
// same job that need not wait, since it would be taken back at once.
std::optional<Choice> ChooseEarly(const State& state, const StageId& id, const SlotOffer& offer);

// Workers that are to keep room for copies, where a waiting attempt would take it.
size_t KeptForCopies(const State& state);

// Launches what `choose` says; false where that is nothing or is refused.
bool LaunchOf(const State& state, const StageId& stage, const SlotOffer& offer, Choose choose, Plan* plan);
// From the first stage by priority and arrival from which something can be launched, over the kinds
// in which the worker has room (all, or reduces only).
bool LaunchInOrder(const State& state, const SlotOffer& offer, bool ready, bool with_maps, Choose choose,
                   Plan* plan);

// As many waiting attempts of the same job as there are tasks of this stage without a slot, less
// those that are on their way back already; the latest first.
void TakeBackFor(const StageId& stage, const State& state, Plan* plan);
// Whether the stage lacks the slot of this attempt, and could use it.
bool SlotHelps(const State& state, const AttemptId& id, const StageId& stage);

}  // namespace mr::sched
