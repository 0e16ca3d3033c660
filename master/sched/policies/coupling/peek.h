// Estimates from some adjacent workers how much of the cluster is free for maps, and how much of it holds input of a
// job. coupling computes its chances from them: Coupling Scheduler (INFOCOM 2013), algorithm 3, pm (share) and N
// (free).
#pragma once

#include "common/base/rng.h"
#include "master/sched/state/state.h"

namespace mr::sched {

// share: of workers, those that hold input of a waiting map. free: number of workers with a free map slot.
struct Peeked {
  double share = 0, free = 0;
};

// Estimates from `most` workers, starting at a random one; from all if there are no more. Cost: these workers, in
// State::roll() and in the lists of the job's maps.
Peeked PeekAtWorkers(const State& state, const Job& job, size_t most, Rng& rng);

}  // namespace mr::sched
