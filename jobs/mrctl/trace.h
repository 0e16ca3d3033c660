// An ended job's attempts over time as trace events, in the JSON object form that ui.perfetto.dev and chrome://tracing
// read. Each worker is a process with a track per slot. Each attempt is a slice with its phases below it. The job is a
// process with its stages, and the scheduler's decisions are instants. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "jobs/mrctl/model.h"

namespace mr::ctl {

// history: lines of master/history's document, head first; other jobs in it are ignored. attempts: of the job, for
// reasons and messages; may be incomplete. decisions: if empty, launches and ends of attempts are shown instead.
// workers: for their names. Errors: kInternal if the history cannot be parsed; kRejected if a newer master wrote it.
Result<std::string> TraceJson(JobId job, std::string_view history, const std::vector<AttemptStatus>& attempts,
                              const std::vector<DecisionStatus>& decisions, const std::vector<WorkerStatus>& workers);

}  // namespace mr::ctl
