// Predicts how long a job still takes with a given number of slots, from its earlier runs: Jockey's offline simulator
// (EuroSys'12, 4.1). It simulates one job alone, with slots of its own and task times drawn from its profile. The
// simulator of whole clusters is simulation.h. Each simulated run is on another day (DaySpread). As in the
// paper, it does not model other input sizes (Scaled) and duplicate tasks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "master/sched/job_profile.h"
#include "master/sched/prediction.h"

namespace mr::sim {

using sched::Prediction;
using sched::RunProfile;
using sched::StageRuns;

// Returns T_s, Q_s, l_s and L_s (jockey_rules.h). Stages also begin and end as in one run with `slots` and one with a
// slot per task.
std::vector<sched::StageProfile> Summarize(const RunProfile& profile, uint32_t slots, uint64_t seed);

// Returns how far a stage's mean task time varies from day to day, as the sigma of a lognormal. It is estimated from
// the latest runs and a prior that weighs as three runs with .2; 0 if no run is known. Beyond the paper: a job's last
// stages deviate last, when slack in proportion to the remaining time has shrunk.
double DaySpread(const sched::StageRuns& stage);

struct PredictOptions {
  std::vector<uint32_t> slots;                       // ascending, each > 0
  uint32_t runs = 20, buckets = 50, quantiles = 10;  // guesses: a quantile may be off by a tenth of the deadline
  sched::Indicator indicator = sched::Indicator::kTotalWorkWithQueueing;
  uint64_t seed = 1;
  bool days = true;  // each simulated run is on another day; false: on the learned day, as in the paper
};

// Predicts the job. Errors: kInvalidArgument: a stage has no samples, or an input that does not come before it. Cost:
// O(slots * runs * tasks * log tasks), .2 us per task (measured).
Result<Prediction> Predict(const RunProfile& profile, const PredictOptions& options);

// One point of a run with a given number of slots: the finished share of each stage after a task ended. The last point
// is the end.
struct RunPoint {
  double at = 0;
  std::vector<double> finished;
};
std::vector<RunPoint> SampleRun(const RunProfile& profile, uint32_t slots, uint64_t seed);

// Returns the profile of an input `times` as large. It has `times` as many tasks of the same length or, with
// tasks_stay, as many tasks that take `times` as long.
RunProfile Scaled(RunProfile profile, double times, bool tasks_stay);
// Returns the same for known task counts: each task reads its part. Requires: tasks.size() is the number of stages.
RunProfile ScaledTo(RunProfile profile, const std::vector<uint32_t>& tasks, double times);

// Returns the numbers of slots to predict with, ascending up to `all` (1 for all = 0): each one to 10, then a fifth
// apart. The steps are wider if there would be more than kMostSlotCounts. A guess: above 10 one more slot changes
// little, while simulated runs and prediction bytes grow with the count.
inline constexpr size_t kMostSlotCounts = 24;
std::vector<uint32_t> SlotsToPredict(uint32_t all);

}  // namespace mr::sim
