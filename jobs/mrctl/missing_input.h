// Explains an input that the block store does not have, where this machine has a file of that name.
#pragma once

#include <string>

#include "common/base/status.h"

namespace mr::ctl {

// Returns the status with the hint how to use the local file, if it says that an input of the block store does not
// exist and this machine has that path, absolute or below `cwd`; else unchanged.
Status WithLocalFile(const Status& status, const std::string& cwd);

}  // namespace mr::ctl
