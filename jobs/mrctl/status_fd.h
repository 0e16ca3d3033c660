// The descriptor of --status-fd N, on which mrctl reports a job to another program (status_lines.h).
#pragma once

#include "common/base/status.h"

namespace mr::ctl {

// Checks a descriptor before anything runs, and keeps it from the processes that mrctl starts. Errors: kInvalidArgument
// if it is not open for writing.
Status PrepareStatusFd(int fd);

}  // namespace mr::ctl
