// What maps and reduces leave each other where the slots of a worker are of one kind for both (coupling; our
// addition: the paper's workers have caps per kind, by which this is off).
//
//   maps      reduces that wait for inputs take no slot where reduces hold all but this share of all slots, rounded
//   up:
//             the maps of a job to come find slots that nobody sits on
//   reduces   while reduces hold less than this share, one that is due comes before a map of another job (before one
//   of
//             its own it never does: it would be taken back for it at once)
// Neither binds what has its inputs otherwise: that ends by itself, and takes turns as the policies before say.
#pragma once

#include "master/sched/state.h"

namespace mr::sched {

// Shares of all slots, 0 to 1; 0: nothing is kept.
struct LeastSlots {
  double maps = 0, reduces = 0;
};

// A reduce may wait for its inputs on a slot of this worker, whose reduces are capped or which leaves maps enough.
bool MayWait(const State& state, const Worker& w, const LeastSlots& least);
// A reduce that is due may have a slot of this worker before a map has.
bool ReducesLackSlots(const State& state, const Worker& w, const LeastSlots& least);

}  // namespace mr::sched
