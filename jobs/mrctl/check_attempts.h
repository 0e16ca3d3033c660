// The check of mrctl doctor for attempts that make no progress.
#pragma once

#include <string>
#include <vector>

#include "jobs/mrctl/client.h"
#include "jobs/mrctl/operate.h"

namespace mr::ctl {

// Reports attempts whose worker has sampled their stack because they made no progress. They run on until their
// --task-timeout, so no other state shows them. prefix: "mrctl ", for the commands in its text. Returns a check per
// such attempt, and one more if some attempts were not looked at. Cost: a call per job and per long-running attempt, 20
// per job; begins none after 10 s in all, and none to a worker that gave no answer.
std::vector<Check> CheckAttempts(Client& client, const std::vector<JobStatus>& jobs, const std::string& prefix);

}  // namespace mr::ctl
