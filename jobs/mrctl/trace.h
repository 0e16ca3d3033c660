// An ended job's attempts over time, as trace events (the JSON object form that ui.perfetto.dev and chrome://tracing
// read): a process for each worker with a track for each slot, an attempt a slice with its phases below it; a process
// for the job with its stages and the scheduler's decisions as instants. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "jobs/mrctl/model.h"

namespace mr::ctl {

// history: lines of master/history's document with this job in it, head first; others in it are left out. attempts: of
// the job, for reasons and messages; those that are missing have none. decisions: where there are none, launches and
// ends of attempts stand for them. workers: for their names. kInternal: the history cannot be understood; kRejected: a
// newer master wrote it.
Result<std::string> TraceJson(JobId job, std::string_view history, const std::vector<AttemptStatus>& attempts,
                              const std::vector<DecisionStatus>& decisions, const std::vector<WorkerStatus>& workers);

}  // namespace mr::ctl
