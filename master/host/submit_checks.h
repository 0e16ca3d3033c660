// Checks a submission against the cluster's state: what a submit would be refused for, and what its planner needs.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"
#include "master/host/driver.h"
#include "master/host/host_clock.h"
#include "master/host/planner.h"
#include "master/host/safe_mode.h"

namespace mr::master {

// Thread: the master's.
class SubmitChecks {
 public:
  SubmitChecks(const HostOptions& options, Driver& driver, HostClock& clock, const SafeMode& safe_mode);

  // Returns the reasons to refuse a submit; the first one is its answer. Files are checked with the plan.
  std::vector<Status> Refusals(const Caller& caller, const JobSpec& spec);
  // Returns the cluster's state for the planner, with the inputs that the caller may read.
  PlanContext ContextOf(const Caller& caller, const JobSpec& spec) const;
  // Returns a context for files outside of the block store.
  PlanContext OutsideContext() const;

 private:
  // Errors: kRejected: an attempt would need more memory than any worker has that is registered or may come back.
  Status CheckMemory(const JobSpec& spec);
  // Errors: kRejected: no worker that is registered or may come back has rooms of the wanted tier. That another worker
  // has lower ones is not known to the scheduler: an attempt there fails, and another one starts elsewhere.
  Status CheckTier(const JobSpec& spec);
  Status CheckDfsOutput(const Caller& caller, const JobSpec& spec);

  const HostOptions& options_;
  Driver& driver_;
  MasterCore& core_;
  HostClock& clock_;
  const SafeMode& safe_mode_;
};

}  // namespace mr::master
