// Slots that were lent to clones while nothing else could use them (State::lent): what others may take them for. Who
// lends: opportunistic.h; how they come back: give_back.h.
#pragma once

#include "master/sched/state.h"

namespace mr::sched {

// The slot comes back, or would where something wanted it: its task can do without the attempt.
bool ComesBack(const State& state, const AttemptId& lent);
// How many of the lent slots are such.
size_t SlotsThatComeBack(const State& state);
// Workers with room for an attempt of this kind, or that would have it but for lent slots; counted to `enough` only.
size_t FreeOrLent(const State& state, SlotKind kind, size_t enough);
// How many tasks of an early stage may begin to wait on lent slots, by the rules of ChooseEarly.
size_t EarlyThatMayStart(const State& state, const StageId& id);
// Whether the end of this lent attempt gives a task of the stage a place that it lacks.
bool LentSlotHelps(const State& state, const AttemptId& lent, const StageId& stage);

// How many tasks have no slot that could run where this attempt ends, and nowhere else: 0 unless more than workers have
// a free slot, and than slots are `coming` back.
size_t TasksInNeedOf(const State& state, const AttemptId& id, size_t coming);

// What is used of a worker once an attempt of this stage is gone; whether it is offered when it has room.
SlotUse Without(SlotUse use, const StageSpec& spec);
bool MayBeOffered(const Worker& w);
// With greedy reduces only maps count in queues. What a queue holds of its max share.
bool CountsInQueue(const State& state, SlotKind kind);
uint32_t HeldInQueue(const State& state, const Queue& queue);

}  // namespace mr::sched
