// A job's attempts over time as trace events, in the JSON object form that ui.perfetto.dev and chrome://tracing read.
// Each worker is a process with a track per slot. Each attempt is a slice with its phases below it. The job is a
// process with its stages, and the scheduler's decisions are instants. Pure.
#pragma once

#include <string>

#include "common/report/job_run.h"

namespace mr::ctl {

// Returns the trace as one line of JSON. Attempts that run end when the run was read.
std::string TraceJson(const report::JobRun& run);

}  // namespace mr::ctl
