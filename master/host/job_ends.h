// Ends of jobs: publishes outputs, reports ends, removes staging, and keeps what a run taught.
#pragma once

#include "common/base/status.h"
#include "common/exec/loop.h"
#include "master/host/block_store.h"
#include "master/host/dispatcher.h"
#include "master/host/driver.h"
#include "master/host/host_clock.h"
#include "master/host/input_pins.h"
#include "master/host/outlets.h"
#include "master/host/watchers.h"

namespace mr::master {

// Thread: the master's, where no other is given; directories are changed on pool threads.
class JobEnds {
 public:
  JobEnds(const HostOptions& options, Driver& driver, HostClock& clock, Loop& loop, Outlets& outlets,
          Watchers& watchers, Dispatcher& dispatcher, BlockStore& block_store, InputPins& pins);

  // Publishes the output of a committed job. A fault that may pass is tried again. attempt: from 1.
  void Publish(JobId job, int attempt);
  // The job's end is durable: it may be reported from here on, and workers may forget the job.
  void JobEnded(JobId job);
  // Removes the staging of a job that failed, when no attempt writes there any more.
  void CleanUp(JobId job);
  // For a local cluster that ends: removes the staging of all jobs whose output is not published. Where there are such
  // jobs, it waits for the end of the workers first, since their attempts would make it again. Blocks. Requires: the
  // workers run on this machine, and no other thread uses the core any more.
  void ClearForGood() const;

 private:
  void Published(JobId job, int attempt, const Status& status);
  // Adds the run of a job that succeeded to the job's profile.
  void Learn(const JobView& job);

  const HostOptions& options_;
  Driver& driver_;
  MasterCore& core_;
  HostClock& clock_;
  Loop& loop_;
  Outlets& outlets_;
  Watchers& watchers_;
  Dispatcher& dispatcher_;
  BlockStore& block_store_;
  InputPins& pins_;
};

}  // namespace mr::master
