// Slots that were lent to clones while they were idle (State::lent), and the waiting work that may take them back. The
// lender is opportunistic.h; give_back.h returns them.
#pragma once

#include "master/sched/state/state.h"

namespace mr::sched {

// Returns whether the slot is coming back, or can be taken back because the task has another attempt.
bool ComesBack(const State& state, const AttemptId& lent);
// Returns how many lent slots come back.
size_t SlotsThatComeBack(const State& state);
// Returns the slots in use. Lent slots that come back count as free.
uint64_t HeldSlots(const State& state);
// Returns the workers that have room for an attempt of this kind, or would have it without lent slots. Counts up to
// `enough` only.
size_t FreeOrLent(const State& state, SlotKind kind, size_t enough);
// Returns how many tasks of an early stage may begin to wait on lent slots, by the rules of ChooseEarly.
size_t EarlyThatMayStart(const State& state, const StageId& id);
// Returns whether the end of this lent attempt gives a task of the stage a place that it lacks.
bool LentSlotHelps(const State& state, const AttemptId& lent, const StageId& stage);

// Returns how many waiting tasks could run on this attempt's slot. Returns 0 unless there are more than workers with a
// free slot plus slots that are `coming` back.
size_t TasksInNeedOf(const State& state, const AttemptId& id, size_t coming);

// Returns the use of a worker without one attempt of this stage.
SlotUse Without(SlotUse use, const StageSpec& spec);
// Returns whether this worker is offered when it has room.
bool MayBeOffered(const Worker& w);
// Returns whether attempts of this kind count in queues: with greedy reduces only maps do.
bool CountsInQueue(const State& state, SlotKind kind);
// Returns what a queue holds of its max share.
uint32_t HeldInQueue(const State& state, const Queue& queue);

}  // namespace mr::sched
