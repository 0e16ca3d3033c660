// The published exit codes of mrctl, and the texts of failures for people and scripts.
//
// Code inside mrctl returns Status. A hint (what to do next) is appended to its message and split off again when it is
// printed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "jobs/mrctl/model.h"

namespace mr::ctl {

// Published: a number never changes its meaning.
enum ExitCode : int {
  kExitOk = 0,
  kExitJobFailed = 1,
  kExitUsage = 2,
  kExitRejected = 3,
  kExitJobKilled = 4,
  kExitNoMaster = 5,
  kExitNotAllowed = 6,
  kExitNotFound = 7,
  kExitMissedDeadline = 8,
  kExitInternal = 70,
  kExitTimeout = 124,
  kExitInterrupted = 130,
};

ExitCode ExitCodeFor(Code code);
// Returns the exit code for a job that has ended.
ExitCode ExitOf(const JobStatus& job);
// Returns the exit code of a wait for several jobs that have ended: that of the first one that did not succeed, in the
// order of the command line.
ExitCode ExitOf(const std::vector<JobStatus>& jobs);

// Returns the status with a hint after its message. A status with a hint is returned unchanged.
Status WithHint(const Status& status, const std::string& hint);

// Adds to an error without a master what the command can do without one, if anything. verb: of the command line.
Status WithLocalWay(const Status& status, std::string_view verb);

struct Failure {
  ExitCode exit;
  std::string code;  // lower-case word for scripts: "not_found"
  std::string message;
  std::string hint;  // may be empty
};
// Returns the parts of an error for people and scripts. Refusals name the action, not the method (refused_action.h).
Failure ToFailure(const Status& status);

// Returns "mrctl: message\n  hint\n".
std::string FailureText(const Failure& failure);
// Returns {"version":1,"error":{"code":...,"message":...,"hint":...}} and a newline.
std::string FailureJson(const Failure& failure);

}  // namespace mr::ctl
