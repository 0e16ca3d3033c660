// Slots that maps and reduces leave each other on workers without caps per kind, for coupling. Not in the paper: its
// workers have caps per kind, which switch this off.
//
//   maps      reduces that wait for inputs take no slot if reduces hold all but this share of all slots, rounded up:
//             the maps of a later job find slots that no waiting reduce holds
//   reduces   while reduces hold less than this share, a due one comes before a map of another job; never before a map
//             of its own job, for which it would be taken back at once
// Neither limits tasks with inputs in another way. They end by themselves, and earlier policies order them.
#pragma once

#include "master/sched/state/state.h"

namespace mr::sched {

// Shares of all slots, 0 to 1; 0: nothing is kept.
struct LeastSlots {
  double maps = 0, reduces = 0;
};

// Returns whether a reduce may wait for its inputs on a slot of this worker: its reduces are capped, or it leaves
// enough to maps.
bool MayWait(const State& state, const Worker& w, const LeastSlots& least);
// Returns whether a due reduce may have a slot of this worker before a map.
bool ReducesLackSlots(const State& state, const Worker& w, const LeastSlots& least);

}  // namespace mr::sched
