// Checks the first bytes of inputs before a job is submitted: containers that no job reads, and missing columns of
// tables. Inputs that cannot be read from here pass; the master or the job's tasks check them.
#pragma once

#include "common/base/status.h"
#include "jobs/mrctl/job_spec.h"

namespace mr::ctl {

class Client;

// client: null for a local run, which has local files. Errors: kInvalidArgument with all missing columns. Cost: opens
// at most kFilesLookedAt files per input, and reads up to 64 KiB of one file per table.
Status CheckInputs(const Plan& plan, const SpecOptions& options, Client* client);

}  // namespace mr::ctl
