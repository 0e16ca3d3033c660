// The check of mrctl doctor for attempts that make no progress.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/base/time.h"
#include "jobs/mrctl/model.h"
#include "jobs/mrctl/operate.h"

namespace mr::ctl {

// The sources of CheckAttempts. `attempts` and `log` are calls to the master (Client::Attempts, Client::Logs).
struct AttemptSources {
  std::function<Result<std::vector<AttemptStatus>>(JobId)> attempts;
  std::function<Result<AttemptLog>(AttemptId)> log;
  std::function<Instant()> now;
};

// Reports attempts whose worker has sampled their stack because they made no progress. They run on until their
// --task-timeout, so no other state shows them. prefix: "mrctl ", for the commands in its text. Returns a check per
// such attempt, and one more if some attempts were not looked at. Cost: a call per job and per long-running attempt, 20
// per job; begins none after 10 s in all, and none to a worker that gave no answer.
std::vector<Check> CheckAttempts(const AttemptSources& from, const std::vector<JobStatus>& jobs,
                                 const std::string& prefix);

}  // namespace mr::ctl
