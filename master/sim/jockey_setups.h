// Jobs in the shape of the seven that Jockey's paper describes (papers.md 4.4): stages, barriers, tasks, median and
// 90th percentile of a task's time. Edges, sizes of stages and places of barriers are drawn: guesses.
#pragma once

#include "common/base/rng.h"
#include "master/sim/predict.h"

namespace mr::sim {

inline constexpr int kJockeyJobs = 7;    // A to G
inline constexpr double kDayToDay = .2;  // of times of a stage between runs with inputs of one size (papers.md 4.1)

double StandardNormal(Rng& rng);

// Job 0 to 6. A tree of stages, some of which read files, some one or two others; or a chain. Where there is a
// barrier all tasks before it come first, else a task reads its part of the stages before.
RunProfile JockeyJob(int job, uint64_t seed, bool chain = false);
// The same job on another day: times of each stage times a factor, lognormal with this sigma (input and cluster of a
// recurring job differ: coefficient of variation .59 at the median, papers.md 4.1).
RunProfile AnotherDay(RunProfile profile, double sigma, uint64_t seed);

}  // namespace mr::sim
