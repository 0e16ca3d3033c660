// Access to the block store's files: `mrctl fs`, and results that are printed on standard output.
#pragma once

#include <string>

#include "common/base/status.h"
#include "jobs/mrctl/client.h"

namespace mr::ctl {

// Prints the parts of a job's output directory on standard output, then removes it.
Status PrintStoredParts(Client& client, const std::string& directory);

}  // namespace mr::ctl
