// Which task of a stage goes to a worker that has a slot for it.
#pragma once

#include <optional>

#include "master/sched/reason.h"
#include "master/sched/state.h"
#include "master/sched/trigger.h"

namespace mr::sched {

struct Choice {
  uint32_t task = 0;
  Reason reason;
};
using Choose = std::optional<Choice> (*)(const State&, const StageId&, const SlotOffer&);

// All of them: a task that does not run before a clone of one that does, for clones are to speed a phase up, not to
// keep its tasks waiting where room is narrow.
//
// A task whose input the worker holds.
std::optional<Choice> ChooseLocal(const State& state, const StageId& id, const SlotOffer& offer);
// A task with all of its inputs: one that ran before, else local, in the rack, any.
std::optional<Choice> ChooseReady(const State& state, const StageId& id, const SlotOffer& offer);
// A task that will wait for inputs on its slot; none where it would take the room of a task of the
// same job that need not wait, since it would be taken back at once.
std::optional<Choice> ChooseEarly(const State& state, const StageId& id, const SlotOffer& offer);

// Workers that are to keep room for copies, where a waiting attempt would take it.
size_t KeptForCopies(const State& state);

// Whether an attempt of this stage that waits for its inputs would take the room here that its job needs for tasks
// that need not wait, or for copies. By the worker's slots and memory alone.
bool KeepsRoom(const State& state, const StageId& early, const Worker& w);

}  // namespace mr::sched
