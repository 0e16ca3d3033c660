// Lent slots (lent_slots.h) go back to what waits. No policy's affair: the scheduler asks for it whatever list it has
// by now, in each step in which work appears, or a slot that fell free was not taken.
#pragma once

#include "master/sched/plan.h"

namespace mr::sched {

// Who says so in reasons, and whose facts say where walks go on.
inline constexpr char kLender[] = "opportunistic";

// Ends as many attempts on lent slots as there are tasks that wait and could use the slots, less those that are on
// their way back already; several of one worker where a task needs the memory of several.
//
// Where thousands of stages wait it looks at the first ones in their order, and at as many behind those that it looked
// at the last time: an event costs the same, and each has its turn. False: there are stages that it has not looked at.
bool GiveBackLentSlots(const View& view, Plan* plan);

}  // namespace mr::sched
