// The run of a job as the master knows it: the input of a report. Plain data, read from a master (mrctl), from a
// recorded run, or from the master's own lists.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/model/job_spec.h"
#include "common/model/status.h"

namespace mr::report {

// The label under which `mrctl submit` stores the arguments of the job as words of a shell, unless the user has set it.
inline constexpr char kArgumentsLabel[] = "arguments";

struct JobRun {
  JobStatus job;  // with its counters
  JobSpec spec;
  std::vector<TaskStatus> tasks;
  std::vector<AttemptStatus> attempts;
  std::vector<DecisionStatus> decisions;  // ordered by time
  std::vector<WorkerStatus> workers;
  uint32_t queue_max_share = 0;   // slots that the job's queue may hold at most, as the run was read; 0: no limit
  uint64_t taken_unix_ms = 0;     // when the master answered, by its clock
  std::string release, policies;  // of the master
  std::string kept_logs;          // the directory with the logs of a local run's attempts; empty: they are gone
  bool gone = false;              // the master ends with the job (--local): no command can ask it later
};

}  // namespace mr::report
