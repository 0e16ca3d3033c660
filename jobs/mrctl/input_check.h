// What a look at the first bytes of inputs tells before a job is accepted: containers that nothing reads, and columns
// that a table does not have. Inputs that cannot be read from here pass: the master or the job's tasks find them.
#pragma once

#include "common/base/status.h"
#include "jobs/mrctl/job_spec.h"

namespace mr::ctl {

class Client;

// client: null for a local run, whose inputs are local files. Errors: kInvalidArgument with all wrong columns together.
// Cost: opens at most kFilesLookedAt files for each input, and reads up to 64 KiB of one for each table.
Status CheckInputs(const Plan& plan, const SpecOptions& options, Client* client);

}  // namespace mr::ctl
