// Answers `mrctl why`: what happened to a job, a task, an attempt or a worker, and what keeps tasks from running.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/model/caller.h"
#include "master/core/master_core.h"
#include "master/host/drain_status.h"
#include "master/host/host_clock.h"
#include "master/host/input_waits.h"

namespace mr::master {

// Thread: the master's.
class WhyReader {
 public:
  WhyReader(MasterCore& core, HostClock& clock, DrainReader& drains, const InputWaits& inputs);

  // Returns the answer in sentences. subject: the name of a job, task, attempt or worker. Errors: kInvalidArgument,
  // kNotFound, also where the job does not exist for the caller.
  Result<std::vector<std::string>> Why(const std::string& subject, const Caller& caller);
  // Returns the state of the worker and why the scheduler avoids it: the first lines of Why. Errors: kNotFound.
  Result<std::vector<std::string>> WhyNow(WorkerId id);

 private:
  Result<std::vector<std::string>> WhyWorker(WorkerId id, const Caller& caller);
  Result<std::vector<std::string>> WhyJob(const std::string& subject, JobId id, const Caller& caller);
  Result<std::vector<std::string>> WhyTask(const std::string& subject, const Caller& caller);
  // Returns the name of a task or an attempt with its stage; any other name as it is.
  Result<std::string> WithStage(const std::string& subject, const Caller& caller) const;

  MasterCore& core_;
  HostClock& clock_;
  DrainReader& drains_;
  const InputWaits& inputs_;
};

}  // namespace mr::master
