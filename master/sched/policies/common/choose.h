// Chooses the task of a stage that goes to a worker with a free slot for it.
#pragma once

#include <optional>

#include "master/sched/reason.h"
#include "master/sched/state/state.h"
#include "master/sched/trigger.h"

namespace mr::sched {

struct Choice {
  uint32_t task = 0;
  Reason reason;
};
using Choose = std::optional<Choice> (*)(const State&, const StageId&, const SlotOffer&);

// All three choose tasks without a live attempt before clones: clones should speed a phase up, not keep its tasks
// waiting.
//
// Returns a task with its input on the worker.
std::optional<Choice> ChooseLocal(const State& state, const StageId& id, const SlotOffer& offer);
// Returns a task with all of its inputs: one that ran before, else local, in the rack, any.
std::optional<Choice> ChooseReady(const State& state, const StageId& id, const SlotOffer& offer);
// Returns a task that will wait for inputs on its slot. Returns none if it would take the room of a task of the same
// job that need not wait. It would be taken back at once.
std::optional<Choice> ChooseEarly(const State& state, const StageId& id, const SlotOffer& offer);

// Returns how many workers keep their room for speculative attempts instead of waiting ones.
size_t KeptForSpeculation(const State& state);

// Returns whether an attempt of this stage that waits for inputs would take room here that others need. Others are
// tasks of its job that need not wait, and speculative attempts. Of the worker only its slots and memory matter.
bool KeepsRoom(const State& state, const StageId& early, const Worker& w);

}  // namespace mr::sched
