// What mrctl ends with: the published exit codes, and how a failure is said to people and scripts.
//
// Code inside mrctl returns Status; a hint (what to do next) rides behind the message and is taken
// off again by whoever prints it.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"
#include "jobs/mrctl/model.h"

namespace mr::ctl {

// Published: numbers never change their meaning.
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
// The exit code for a job that has ended.
ExitCode ExitOf(const JobStatus& job);
// The exit code of a wait for several jobs, all of which have ended: that of the first that did not succeed, in the
// order in which they were named.
ExitCode ExitOf(const std::vector<JobStatus>& jobs);

// The same status with a hint behind its message; a status that has one keeps it.
Status WithHint(const Status& status, const std::string& hint);

struct Failure {
  ExitCode exit;
  std::string code;  // lower-case word for scripts: "not_found"
  std::string message;
  std::string hint;  // may be empty
};
Failure ToFailure(const Status& status);

// "mrctl: message\n  hint\n"
std::string FailureText(const Failure& failure);
// {"version":1,"error":{"code":...,"message":...,"hint":...}} and a newline.
std::string FailureJson(const Failure& failure);

}  // namespace mr::ctl
