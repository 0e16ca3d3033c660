// How much of the cluster is free for maps, and how much of it holds input of a job: estimates from some workers next
// to each other, of which the coupling policy makes its chances.
#pragma once

#include "common/base/rng.h"
#include "master/sched/state.h"

namespace mr::sched {

// share: of workers that hold input of a map that waits; free: workers with a free map slot.
struct Peeked {
  double share = 0, free = 0;
};

// Of `most` workers from one by chance on, or of all where there are no more. Cost: these, in State::roll() and in the
// lists of the job's maps.
Peeked PeekAtWorkers(const State& state, const Job& job, size_t most, Rng& rng);

}  // namespace mr::sched
