// Requests on jobs and queues that run: kill, priority and deadline, weights and shares.
#pragma once

#include <functional>
#include <string>

#include "common/base/status.h"
#include "common/model/caller.h"
#include "common/model/changed.h"
#include "master/host/driver.h"
#include "master/host/forecasts.h"
#include "master/host/host_clock.h"
#include "master/host/watchers.h"

namespace mr::master {

// Thread: the master's. Each reply waits until the change is in the journal.
class JobRequests {
 public:
  JobRequests(Driver& driver, HostClock& clock, Watchers& watchers, Forecasts& forecasts);

  void KillJob(JobId job, const Caller& caller, const std::string& why, std::function<void(Changed)> reply);
  // Changes the job. The reply's text warns of a deadline that will probably be missed, with the earliest likely one;
  // "" where there is no warning. With a deadline, where the list steers by them, the reply also waits for predictions
  // of this and other running jobs and for workers that may come back after a restart.
  void SetJob(JobId job, const Caller& caller, const MasterCore::JobWish& wish,
              std::function<void(Changed, std::string)> reply);
  // Errors: kInvalidArgument: nothing changed.
  void SetQueue(const MasterCore::QueueWish& wish, std::function<void(Changed)> reply);

 private:
  std::string LateWarning(JobId job);

  Driver& driver_;
  MasterCore& core_;
  HostClock& clock_;
  Watchers& watchers_;
  Forecasts& forecasts_;
};

}  // namespace mr::master
