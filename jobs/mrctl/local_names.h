// The names of a local run and of its parts. Its cluster calls the job job_1_0001, as every new cluster does, so that
// name would mean an unrelated job elsewhere. People see names of the run in place: local_0007 for the job,
// attempt_local_0007_0_m_000000_1 and task_local_0007_0_m_000000 for its attempts and tasks (adr/0011).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "common/model/status.h"

namespace mr::ctl {

// The name of a local run that is not remembered (keep_runs = 0). No command takes it.
inline constexpr std::string_view kUnrememberedRun = "local_0000";

// Returns the text with the names of the run where it names the job, its tasks and its attempts. local: local_0007;
// empty: the text is of a cluster, and stays as it is.
std::string WithLocalNames(std::string_view text, JobId job, std::string_view local);

// The same for all texts of a status. Sets the job's local_id.
void UseLocalNames(JobStatus* job, const std::string& local);
void UseLocalNames(std::vector<TaskStatus>* tasks, JobId job, const std::string& local);
void UseLocalNames(std::vector<AttemptStatus>* attempts, JobId job, const std::string& local);

// Returns the text without the command that reads a log from the master (master/sched/fold/apply_attempt.cc): no
// command reaches the master of a local run that has ended.
std::string WithoutLogCommand(std::string text);

// A task or an attempt of a local run.
struct LocalPart {
  uint32_t run = 0;
  bool attempt = false;  // false: a task
  std::string rest;      // what follows the run's number: _0_m_000000_1
  // Returns the name in the record of the run, whose job this is: attempt_1_0001_0_m_000000_1.
  std::string NameIn(JobId job) const;
};
// Parses attempt_local_0007_0_m_000000_1 or task_local_0007_0_m_000000. Leading zeros of the run are optional.
std::optional<LocalPart> ParseLocalPart(std::string_view text);

}  // namespace mr::ctl
