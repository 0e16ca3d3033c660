// Modes of a worker's data directory where tasks have users of their own (task/room_user.h).
#pragma once

#include <string>

#include "common/base/status.h"

namespace mr::worker {

// Lets users of tasks pass through `data` to the scratch directories of their jobs, and closes all else in it: blocks,
// shuffle data, libraries, logs, keys. Errors: name the path.
Status CloseToTaskUsers(const std::string& data);

}  // namespace mr::worker
