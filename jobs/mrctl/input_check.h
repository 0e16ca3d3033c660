// Checks the first bytes of inputs before a job is submitted: containers that no job reads, missing columns of tables,
// and headers of parts that the job would take for a row or a line. Inputs that cannot be read from here pass; the
// master or the job's tasks check them.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"
#include "jobs/mrctl/job_spec.h"

namespace mr::ctl {

class Client;

// client: null for a local run, which has local files. Lines for the user are added to *notes. Errors: kInvalidArgument
// with all missing columns. Cost: opens at most kFilesLookedAt files per input, and reads up to 64 KiB of one file per
// table.
Status CheckInputs(const Plan& plan, const SpecOptions& options, Client* client, std::vector<std::string>* notes);

}  // namespace mr::ctl
