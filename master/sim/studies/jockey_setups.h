// Jobs shaped like the seven of Jockey's evaluation (EuroSys'12, section 5, from memory): stages, barriers, tasks, and
// the median and 90th percentile of task times. Edges, stage sizes and places of barriers are drawn: guesses.
#pragma once

#include "common/base/rng.h"
#include "master/sim/engine/predict.h"

namespace mr::sim {

inline constexpr int kJockeyJobs = 7;  // A to G
inline constexpr double kDayToDay =
    .2;  // variation of a stage's times between runs with inputs of one size (Jockey: .20 at the median)

double StandardNormal(Rng& rng);

// Returns job 0 to 6. Its stages form a chain, or a tree in which some read files and some read one or two stages.
// Behind a barrier a stage waits for all tasks before it. Otherwise a task reads its part of the stages before.
RunProfile JockeyJob(int job, uint64_t seed, bool chain = false);
// Returns the same job on another day: each stage's times get a lognormal factor with this sigma. Input and cluster of
// a recurring job vary (Jockey: coefficient of variation .59 at the 90th percentile of jobs, .28 at the median).
RunProfile AnotherDay(RunProfile profile, double sigma, uint64_t seed);

}  // namespace mr::sim
