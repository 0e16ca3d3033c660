// The permanent name of a worker: what the master knows its data directory by.
#pragma once

#include <string>

#include "common/base/status.h"

namespace mr::worker {

// Returns the name in the file `path`. Without one, writes `wish` there, or random hexadecimal digits if that is empty.
// Errors: kInvalidArgument: `wish` is no name (secure::CheckChosenWorker); kRejected: the file has another name; those
// of the file system. Cost: blocks for the disk.
Result<std::string> WorkerName(const std::string& path, const std::string& wish);

}  // namespace mr::worker
