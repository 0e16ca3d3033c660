// `mrctl doctor --bundle`: gathers what a bug report needs into one archive.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "jobs/mrctl/config.h"
#include "jobs/mrctl/operate.h"

namespace mr::ctl {

// Refuses a bundle that could not be written, before it is gathered. Errors: kRejected (it exists, without force);
// kInvalidArgument; those of the file system.
Status CheckBundleFile(const std::string& path, bool force);

// Gathers and writes the archive, and returns its contents: the checks, settings, versions and environment; of the
// master, if one answers, its lists, its journal's state, the decisions and the reasons about jobs that failed, logs of
// their attempts; metrics and logs of daemons that this machine reaches. It names the parts that are out of reach. All
// texts pass Redact.
Result<BundleShown> MakeBundle(const std::string& path, bool force, const Result<Settings>& settings, bool master,
                               const std::vector<Check>& checks);

}  // namespace mr::ctl
