// mrctl fs on files of this machine: ls, cat, text and getmerge of file:///path, without a master.
#pragma once

#include "common/base/status.h"
#include "jobs/mrctl/config.h"
#include "jobs/mrctl/options.h"

namespace mr::ctl {

// Returns whether a command of `mrctl fs` names local files only, and is one that can show them.
bool IsLocalFs(const Command& command);

// Requires: IsLocalFs. Errors: kNotFound; kRejected: the target exists; of the file system.
Result<int> RunLocalFs(const Command& command, const Settings& settings);

}  // namespace mr::ctl
