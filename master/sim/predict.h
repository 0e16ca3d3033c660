// How long a job still takes with so many slots, from how its earlier runs went: Jockey's offline simulator
// (papers.md 4.1). Each simulated run is one of another day: DaySpread. Not the simulator of clusters
// (simulation.h): of the job alone, with a slots of its own, whose tasks take times drawn from the profile. Not
// modelled, as in the paper: other sizes of input (Scaled), duplicate tasks.
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

// T_s, Q_s, l_s, L_s, and begins and ends of a run with `slots` and of one with a slot for each task
// (jockey_rules.h).
std::vector<sched::StageProfile> Summarize(const RunProfile& profile, uint32_t slots, uint64_t seed);

// How far the mean task time of a stage is from that of other days, as the sigma of a lognormal: of its latest runs,
// and as if three more had shown .2. 0 for a profile of no run. A job's last stages show their day last, when slack
// that is in proportion to what is left has shrunk. Beyond the paper.
double DaySpread(const sched::StageRuns& stage);

struct PredictOptions {
  std::vector<uint32_t> slots;                       // ascending, each > 0
  uint32_t runs = 20, buckets = 50, quantiles = 10;  // guesses: a tenth of the deadline is what a quantile may be off
  sched::Indicator indicator = sched::Indicator::kTotalWorkWithQueueing;
  uint64_t seed = 1;
  bool days = true;  // each simulated run is one of another day; false: of the day that was learned, as in the paper
};

// kInvalidArgument: a stage without samples or with an input that is not before it. Cost: slots * runs * tasks * log
// tasks; .2 us a task (measured).
Result<Prediction> Predict(const RunProfile& profile, const PredictOptions& options);

// One run with so many slots: the finished shares of its stages after each task that ended, the last at its end.
struct RunPoint {
  double at = 0;
  std::vector<double> finished;
};
std::vector<RunPoint> SampleRun(const RunProfile& profile, uint32_t slots, uint64_t seed);

// As if its stages read `times` as many bytes: tasks as many, each as long, unless tasks are to stay (then each is as
// many times longer).
RunProfile Scaled(RunProfile profile, double times, bool tasks_stay);
// The same where it is known how many tasks each stage has this time: each takes its part of what is read.
// REQUIRES tasks.size() as many as stages.
RunProfile ScaledTo(RunProfile profile, const std::vector<uint32_t>& tasks, double times);

// Numbers of slots to predict with, ascending, the last of them `all` (1 where there are none): each one to 10, then a
// fifth apart, or further where that would be more than kMostSlotCounts. A guess: a slot more is no news beyond, and
// simulated runs, and bytes of a prediction, are in proportion to them.
inline constexpr size_t kMostSlotCounts = 24;
std::vector<uint32_t> SlotsToPredict(uint32_t all);

}  // namespace mr::sim
