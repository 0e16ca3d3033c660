// The statuses of jobs, tasks, attempts, workers and queues as JSON. The schemas are in jobs/mrctl/schema; a document
// may only grow.
#pragma once

#include <cstdint>

#include "common/model/job_spec.h"
#include "common/model/output.h"
#include "common/model/status.h"
#include "common/report/json.h"

namespace mr::report {

Json ToJson(const JobStatus& job);
Json ToJson(const StageStatus& stage);
Json ToJson(const TaskStatus& task);
Json ToJson(const AttemptStatus& attempt);
Json ToJson(const WorkerStatus& worker);
Json ToJson(const DrainStatus& drain);
Json ToJson(const QueueStatus& queue);
Json ToJson(const CounterValue& counter);

// A document has at most so many inputs and options of a job, and this many bytes of each (guesses).
inline constexpr size_t kMostInputs = 1'000, kMostOptions = 1'000, kInputBytes = 1'000;
// Returns the files and directories that the job reads: an array of {stage, uri, format}.
Json InputsJson(const JobSpec& spec);
// Returns the options of the job's operators: an array of {stage, name, value}. Operators have them as lines
// `name=value`; other configurations, and those of internal stages, are left out.
Json OptionsJson(const JobSpec& spec);

// Returns a time since the submission, or null for 0: not reached, or not known.
Json Reached(uint64_t us);

}  // namespace mr::report
