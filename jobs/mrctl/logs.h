// The parts of `mrctl logs`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "jobs/mrctl/client.h"
#include "jobs/mrctl/config.h"
#include "jobs/mrctl/log_lines.h"
#include "jobs/mrctl/options.h"

namespace mr::ctl {

// The subject of `mrctl logs`: a job, a task or an attempt.
struct LogSubject {
  std::string word;
  JobId job;
  std::optional<AttemptId> attempt;
  std::string prefix;  // of the names of its attempts; empty: all of the job

  bool Has(const std::string& attempt_name) const { return attempt_name.starts_with(prefix); }
};
// word: the id of an attempt or task, or a job (job_ref.h). Errors: kInvalidArgument, and those of JobIdOf.
Result<LogSubject> FindLogSubject(Client& client, const std::string& word);

// Returns the attempts of a job or of a task: failed ones first, each group sorted by task. Errors: kNotFound.
Result<std::vector<AttemptStatus>> AttemptsOf(Client& client, const LogSubject& subject);

// Prints the logs of the subject's attempts while they run, and ends when they have ended. Attempts of a job or task
// that have ended before are not printed, unless all have. Errors: kCancelled (interrupt), kDeadline, and those of the
// connection after a time of trying again.
Status FollowLogs(Client& client, const LogSubject& subject, const LogPattern& pattern, const Command& command,
                  const Settings& settings);

}  // namespace mr::ctl
