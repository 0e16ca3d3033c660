// The statuses of jobs, tasks, attempts, workers and queues as JSON. The schemas are in jobs/mrctl/schema; a document
// may only grow.
#pragma once

#include <cstdint>

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

// Returns a time since the submission, or null for 0: not reached, or not known.
Json Reached(uint64_t us);

}  // namespace mr::report
