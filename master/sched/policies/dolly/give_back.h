// Gives lent slots (lent_slots.h) back to waiting tasks. The scheduler calls it whatever list is in force
// (PolicyEntry::give_back), in each step in which work appears or a freed slot was not taken.
#pragma once

#include "master/sched/plan.h"

namespace mr::sched {

// Ends as many attempts on lent slots as there are waiting tasks that could use the slots, less those already on their
// way back; several of one worker if a task needs the memory of several.
//
// If thousands of stages wait, it examines the first ones in their order, and as many after those of the last time. So
// an event costs the same, and each stage has its turn. Returns false if there are stages that it has not examined.
bool GiveBackLentSlots(const View& view, Plan* plan);

}  // namespace mr::sched
