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
// With its `inputs` and `options`.
Json ToJson(const JobStatus& job, const JobSpec& spec);
Json ToJson(const StageStatus& stage);
Json ToJson(const TaskStatus& task);
Json ToJson(const AttemptStatus& attempt);
Json ToJson(const WorkerStatus& worker);
// The worker's disk as text, since 64 bits do not fit into a number of JavaScript; null where it is not known.
Json DiskName(const WorkerStatus& worker);
Json ToJson(const DrainStatus& drain);
Json ToJson(const QueueStatus& queue);
Json ToJson(const CounterValue& counter);

// A document has at most so many inputs and options of a job, and this many bytes of each (guesses).
inline constexpr size_t kMostInputs = 1'000, kMostOptions = 1'000, kInputBytes = 1'000;
// Returns the files and directories that the job reads: an array of {stage, uri, format}. Without those of internal
// stages, which read the same ones.
Json InputsJson(const JobSpec& spec);
// Returns the options of the job: an array of {stage, name, value}. First, its arguments as the user gave them, with
// stage null, if they are known. Then the configurations of operators, if they are lines `name=value`; without those of
// internal stages.
Json OptionsJson(const JobSpec& spec);

// Returns a time since the submission, or null for 0: not reached, or not known.
Json Reached(uint64_t us);

}  // namespace mr::report
