// One run of a job with a deadline on a cluster that others use too, under the scheduler itself (simulation.h): what
// the figures of Jockey's study are made of (papers.md 4.4).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "master/sim/predict.h"
#include "master/sim/simulation.h"

namespace mr::sim {

inline constexpr uint32_t kJockeySlots = 100;  // that the paper's jobs may have at most: all of the cluster here

// The job of this run: task t of a stage takes the t-th of so many draws from the stage's samples (run and wait).
// factors: of each stage's times, may be empty; seed: of the draws.
JobModel JobOf(const RunProfile& profile, const std::vector<double>& factors, uint64_t seed);

// 25 workers of 4 slots; nine other queues that want all of them, on and off; machines that are slow for a while, two
// that crash, attempts that fail. All that takes time takes it in minutes of `minute` seconds, so that a short job
// sees as much of it as a long one. The job itself comes after five of them, as job 0 of the workload.
Experiment NoisyCluster(JobModel job, const std::string& policies, uint64_t seed, double minute);

// Seconds with a slot for each task, each at once where it has its inputs: no deadline below it can be met.
double CriticalPath(const JobModel& job);

struct DeadlineRun {
  double seconds = 0;  // from submit to end
  double deadline = 0;
  double work = 0;                                  // slot-seconds of its tasks, each once
  double guaranteed = 0;                            // slot-seconds: its share over time; without one: what it held
  double above = 0;                                 // of these, above the oracle's ceil(work / deadline) slots
  double held = 0;                                  // slot-seconds of its attempts
  std::vector<std::pair<double, uint32_t>> shares;  // seconds since the submit, slots guaranteed from then on
  RunProfile profile;                               // what it teaches
  bool met() const { return seconds <= deadline; }
};
// deadline: in seconds, 0: none. changed: from `change_at` seconds after the submit on; 0: it stays.
struct DeadlineAsk {
  double deadline = 0, change_at = 0, changed = 0;
  std::shared_ptr<const Prediction> prediction;
};
// kInternal: the simulation stopped.
Result<DeadlineRun> RunOne(Experiment e, const DeadlineAsk& ask);

}  // namespace mr::sim
