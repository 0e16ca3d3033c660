// Runs the simulator, mrsim, for the verbs that it answers: whatif, schedulers.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"
#include "jobs/mrctl/config.h"

namespace mr::ctl {

// Runs mrsim with these arguments, `in` as its standard input, and our standard output and error. It prints in the form
// of the settings. Returns its exit code, which means what mrctl's does.
// Errors: kInternal: it cannot be started, or died of a signal; those of InterruptedStatus and TimeoutStatus.
Result<int> RunMrsim(std::vector<std::string> arguments, int in, const Settings& settings);

}  // namespace mr::ctl
