// Saves logs and records of a job with --local before its cluster is gone, and says what it ran.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"
#include "jobs/mrctl/client.h"

namespace mr::ctl {

// Copies the logs of attempts (DIRECTORY/attempt_local_0007_0_m_000000_1) and of daemons (DIRECTORY/master.log, ...)
// out of the cluster's directory. Makes `directory`, and replaces files of these names in it. local: the run's name.
Status KeepLogs(const std::string& cluster_directory, const std::string& directory, JobId job,
                const std::string& local);

// Returns a few of the records that a job skipped, with place and reason from the logs of its attempts. Empty if they
// cannot be read.
std::vector<std::string> SkippedRecords(Client& client, JobId id);

// Returns the failure of a local cluster whose workers are gone, with the operators that they ran, by the job's
// attempts. Returns it unchanged if the master does not answer. local: the run's name.
Status WithRunningOperator(const Status& broken, Client& client, JobId id, const std::string& local);

// Returns the warning of UnmatchedNote (follow.h), and one of the lines with its place from the logs of the attempts.
// Empty if `parse` read all lines, or if the counters cannot be read.
std::string UnmatchedText(Client& client, const JobSpec& spec, JobId id, const std::string& output_uri);

}  // namespace mr::ctl
