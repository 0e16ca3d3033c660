// Predicts how long jobs take, on the background thread, and gives the predictions to the scheduler.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "common/base/status.h"
#include "common/exec/loop.h"
#include "master/host/driver.h"
#include "master/host/outlets.h"
#include "master/host/predictor.h"
#include "master/host/watchers.h"

namespace mr::master {

// Thread: the master's.
class Forecasts {
 public:
  Forecasts(const HostOptions& options, Driver& driver, Loop& loop, Outlets& outlets, Watchers& watchers);

  // Returns whether a policy of the cluster's list steers jobs by their deadlines.
  bool Steers() const;
  // Returns whether the job gets a prediction: it has a deadline or a utility, and a policy steers by them.
  bool Wanted(const JobSpec& spec) const;
  // Predicts the job. then: called on this thread with the result.
  void Predict(const JobSpec& spec, const JobPlan& plan, std::function<void(Result<Forecast>)> then);
  // Predicts a running job that should have a prediction and has none. then: called behind it, or at once.
  void PredictRunning(JobId job, std::function<void()> then = nullptr);
  // Runs `then` when no prediction of a running job is under way and no worker is awaited after a restart; at once
  // where that is so. Until then slots might be promised that these jobs need, or slots of workers that return be
  // missed.
  void WhenSettled(std::function<void()> then);
  // Runs what waits in WhenSettled, if that is so. Called when a worker has come, is lost, or a job was given up.
  void Settle();

 private:
  void TakeForecast(JobId job, Result<Forecast> forecast);
  bool Settled() const;

  const HostOptions& options_;
  Driver& driver_;
  MasterCore& core_;
  Loop& loop_;
  Outlets& outlets_;
  Watchers& watchers_;
  std::map<JobId, std::vector<std::function<void()>>> under_way_;  // running jobs, and what waits for their predictions
  std::deque<std::function<void()>> unsettled_;
};

}  // namespace mr::master
