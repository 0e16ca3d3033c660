// Finds what made a job slower than it had to be, from its run alone. A run without problems has no findings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/report/critical_path.h"

namespace mr::report {

// Returns by how much the job has missed its deadline, in microseconds; 0: it has none, or has not missed it.
uint64_t LateUs(const JobStatus& job);

struct Finding {
  // The name of the kind: hot_key, uneven_input, slow_worker, slow_task, too_few_tasks, too_many_tasks, lost_worker,
  // full_queue, failed_attempts, missed_deadline or unused_combiner.
  const char* id = "";
  bool problem = true;        // false: a hint for tuning
  uint32_t stage = kNoStage;  // kNoStage: of the job
  std::string worker;         // empty: of none
  double share = -1;          // of the job's time; below 0: not known
  std::string text, advice;   // sentences for people
  std::string command;        // to look further, with the id of a task, attempt or worker; empty: none
};

// Returns the findings, problems first, each kind ordered by its share.
std::vector<Finding> FindProblems(const JobRun& run, const Timeline& timeline, const CriticalPath& path);

}  // namespace mr::report
