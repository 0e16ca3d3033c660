// Slots that were lent to clones while nothing else could use them (State::lent), and what waits. See opportunistic.h.
#pragma once

#include "master/sched/plan.h"

namespace mr::sched {

// Workers with room for an attempt of this kind, or that would have it but for lent slots; counted to `enough` only.
size_t FreeOrLent(const State& state, SlotKind kind, size_t enough);
// How many tasks of an early stage may begin to wait on lent slots, by the rules of ChooseEarly.
size_t EarlyThatMayStart(const State& state, const StageId& id);
// Whether the end of this lent attempt gives the task a place that it lacks.
bool LentSlotHelps(const State& state, const AttemptId& lent, const TaskId& task);

// Ends as many attempts on lent slots, of the jobs that the view serves, as there are tasks that wait and could use
// the slots, less those that are on their way back already.
void GiveBackLentSlots(const View& view, Plan* plan);

}  // namespace mr::sched
