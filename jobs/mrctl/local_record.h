// Remembers the run of a local job before its cluster is gone.
#pragma once

#include <string>

#include "common/base/status.h"
#include "common/report/recorded_run.h"
#include "jobs/mrctl/client.h"
#include "jobs/mrctl/config.h"

namespace mr::ctl {

// Reads all that the local master knows about the job. Its error then names no commands that need this master. A job
// that has not ended has no history, and counts as killed, since its cluster ends. Errors: those of Client.
Result<report::RecordedRun> ReadRecord(Client& client, JobId id);

// Kills a job whose user does not wait for it any more, and waits for its end, for at most a second. why: for the
// record.
void StopLocalJob(Client& client, JobId id, const std::string& why);

// Stores the run, and sets its local_id. A failure to do so is a warning on stderr and leaves local_id empty, since the
// job's result does not depend on it. settings: keep_runs 0 stores nothing.
void Remember(report::RecordedRun* recorded, const Settings& settings);

}  // namespace mr::ctl
