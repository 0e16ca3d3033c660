// What each command does. Each returns the exit code, or the Status that main reports.
#pragma once

#include "common/base/status.h"
#include "jobs/mrctl/config.h"
#include "jobs/mrctl/options.h"

namespace mr::ctl {

inline constexpr char kVersion[] = "0.1.0";

Result<int> RunSubmit(const Command& command, const Settings& settings);  // also explain
Result<int> RunJobVerb(const Command& command, const Settings& settings);  // jobs job wait attach kill why
Result<int> RunLogs(const Command& command, const Settings& settings);
Result<int> RunClusterVerb(const Command& command, const Settings& settings);  // workers worker queues queue version
Result<int> RunProfile(const Command& command, const Settings& settings);
Result<int> RunWhatif(const Command& command, const Settings& settings);
Result<int> RunFs(const Command& command, const Settings& settings);

// To standard output, unbuffered in between; a reader that went away is not an error.
void Print(const std::string& text);

}  // namespace mr::ctl
