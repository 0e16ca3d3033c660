// Makes recurring jobs by the figures that Jockey's evaluation (EuroSys'12, section 5) gives of its jobs: stages,
// barriers, tasks, and the median and 90th percentile of task times. Edges, stage sizes and places of barriers are
// drawn: guesses.
#pragma once

#include <string>

#include "common/base/rng.h"
#include "master/sim/engine/predict.h"

namespace mr::sim {

struct JockeyShape {
  std::string name;  // also names the random stream
  uint32_t stages = 1, barriers = 0, tasks = 1;
  double median = 1, p90 = 2;  // seconds of a task
};

inline constexpr double kDayToDay =
    .2;  // variation of a stage's times between runs with inputs of one size (Jockey: .20 at the median)

double StandardNormal(Rng& rng);

// Returns a job of this shape. Its stages form a chain, or a tree in which some read files and some read one or two
// stages. Behind a barrier a stage waits for all tasks before it. Otherwise a task reads its part of the stages before.
RunProfile JockeyJob(const JockeyShape& shape, uint64_t seed, bool chain = false);
// Returns the same job on another day: each stage's times get a lognormal factor with this sigma. Input and cluster of
// a recurring job vary (Jockey: coefficient of variation .59 at the 90th percentile of jobs, .28 at the median).
RunProfile AnotherDay(RunProfile profile, double sigma, uint64_t seed);

}  // namespace mr::sim
