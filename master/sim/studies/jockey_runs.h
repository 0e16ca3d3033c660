// One run of a job with a deadline on a shared cluster, under the scheduler itself (simulation.h): the unit of Jockey's
// study (EuroSys'12, section 5).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "master/sim/engine/predict.h"
#include "master/sim/engine/simulation.h"

namespace mr::sim {

inline constexpr uint32_t kJockeySlots = 100;  // the most slots of the paper's jobs; here the whole cluster

// Makes the job of a run: task t of a stage takes the t-th draw from the stage's samples (run and wait). factors: on
// each stage's times; may be empty. seed: of the draws.
JobModel JobOf(const RunProfile& profile, const std::vector<double>& factors, uint64_t seed);

// Makes the cluster: 25 workers of 4 slots, nine other queues that by turns want all slots or none, machines that are
// slow for a while, two crashes, and attempts that fail. All times are in minutes of `minute` seconds, so that a short
// job sees as much of it as a long one. The job is job 0 of the workload and comes after five minutes.
Experiment NoisyCluster(JobModel job, const std::string& policies, uint64_t seed, double minute);

// Returns the seconds with a slot for each task, started at once when its inputs are there. No run meets a shorter
// deadline.
double CriticalPath(const JobModel& job);

struct DeadlineRun {
  double seconds = 0;  // from submit to end
  double deadline = 0;
  double work = 0;        // slot-seconds of its tasks, once each
  double guaranteed = 0;  // slot-seconds of its guarantee over time; without one, those that it held
  double above = 0;       // part of `guaranteed` above the oracle's ceil(work / deadline) slots
  double held = 0;        // slot-seconds of its attempts
  std::vector<std::pair<double, uint32_t>> shares;  // seconds since the submit, guaranteed slots from then on
  RunProfile profile;                               // the profile of this run
  bool met() const { return seconds <= deadline; }
};
// deadline: in seconds; 0: none. changed: the deadline from `change_at` seconds after the submit on; 0: unchanged.
struct DeadlineAsk {
  double deadline = 0, change_at = 0, changed = 0;
  std::shared_ptr<const Prediction> prediction;
};
// Runs it. Errors: kInternal: the simulation stopped.
Result<DeadlineRun> RunOne(Experiment e, const DeadlineAsk& ask);

}  // namespace mr::sim
