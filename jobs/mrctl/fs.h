// The block store's files for mrctl: `mrctl fs`, and results that go to standard output.
#pragma once

#include <string>

#include "common/base/status.h"
#include "jobs/mrctl/client.h"

namespace mr::ctl {

// The parts of a job's output directory to standard output, then removes it.
Status PrintStoredParts(Client& client, const std::string& directory);

}  // namespace mr::ctl
