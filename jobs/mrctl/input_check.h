// Checks the first bytes of inputs before a job is submitted: containers that no job reads, columns and expressions of
// tables, and headers of parts that the job would take for a row or a line. Inputs that cannot be read from here pass;
// the master or the job's tasks check them.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"
#include "jobs/mrctl/job_spec.h"

namespace mr::ctl {

class Client;

// client: null for a local run, which has local files. Lines for the user are added to *notes. The types of columns
// that expressions read are added to the plan's notes. Errors: kInvalidArgument with all missing columns, or with a
// wrong expression. Cost: opens at most kFilesLookedAt files per input, and reads up to 64 KiB of one file per table.
Status CheckInputs(Plan* plan, const SpecOptions& options, Client* client, std::vector<std::string>* notes);

}  // namespace mr::ctl
