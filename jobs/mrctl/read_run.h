// Reads the whole run of a job from a master, and writes its report.
#pragma once

#include <string>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/report/job_run.h"
#include "jobs/mrctl/client.h"

namespace mr::ctl {

// The parts of a job that runs are read one after the other, its status last. Where the caller's roles show the job and
// not its spec, the run has a spec with the names of its stages only. Errors: kNotFound, also
// if it ended so long ago that its attempts are forgotten.
// counters: whether they are read, too.
Result<report::JobRun> ReadRun(Client& client, JobId id, bool counters = true);

// Returns the report of a run as JSON, with the names of a local run.
std::string DocumentOf(const report::JobRun& run);
// Returns the page of a run.
std::string PageOf(const report::JobRun& run);

// Checks that a report can be written to this file, before the job runs. Errors: kInvalidArgument.
Status CheckReportFile(const std::string& path);
// Reads the run and writes its page. Errors: those of ReadRun and of the file, which then has its old contents.
Status WriteReport(Client& client, JobId id, const std::string& path);

}  // namespace mr::ctl
