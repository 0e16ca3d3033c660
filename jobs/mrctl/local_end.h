// What is told and kept of a job that ran with --local, before its cluster is gone: nobody can ask for it later.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"
#include "jobs/mrctl/client.h"

namespace mr::ctl {

// Copies what attempts wrote (DIRECTORY/attempt_..._1) and the logs of the daemons (DIRECTORY/master.log, ...) out of
// the cluster's directory. `directory` is made; files of these names in it are replaced.
Status KeepLogs(const std::string& cluster_directory, const std::string& directory);

// A few of the records that a job skipped, as its attempts logged them: where they are, and why. Empty where that
// cannot be found out.
std::vector<std::string> SkippedRecords(Client& client, JobId id);

}  // namespace mr::ctl
