// The commands. Each returns the exit code, or the Status that main reports.
#pragma once

#include "common/base/ids.h"
#include "common/base/status.h"
#include "jobs/mrctl/config.h"
#include "jobs/mrctl/options.h"

namespace mr::ctl {

Result<int> RunSubmit(const Command& command, const Settings& settings);   // also explain
Result<int> RunJobVerb(const Command& command, const Settings& settings);  // jobs job wait attach kill why history
Result<int> RunLogs(const Command& command, const Settings& settings);
Result<int> RunClusterVerb(const Command& command, const Settings& settings);  // workers worker queues queue version
Result<int> RunWorker(const Command& command, const Settings& settings);       // worker
Result<int> RunDrain(const Command& command, const Settings& settings);        // worker drain
Result<int> RunProfile(const Command& command, const Settings& settings);
Result<int> RunWhatif(const Command& command, const Settings& settings);
Result<int> RunReplay(const Command& command, const Settings& settings);  // task replay
Result<int> RunSchedulers(const Settings& settings);
Result<int> RunSdk(const Command& command, const Settings& settings);
Result<int> RunFs(const Command& command, const Settings& settings);
Result<int> RunStore(const Command& command, const Settings& settings);
Result<int> RunCluster(const Command& command, const Settings& settings);  // cluster
Result<int> RunRotate(const Command& command, const Settings& settings);   // cluster rotate
Result<int> RunToken(const Command& command, const Settings& settings);
Result<int> RunPage(const Command& command, const Settings& settings);

Result<int> RunReport(const Command& command, const Settings& settings);
Result<int> RunTrace(const Command& command, const Settings& settings);
Result<int> RunTop(const Command& command, const Settings& settings);
Result<int> RunConfig(const Command& command, const Settings& settings);
Result<int> RunCompletion(const Command& command, const Settings& settings);
// settings: may be an error of a file or an option, which doctor then reports.
Result<int> RunDoctor(const Command& command, const Result<Settings>& settings);

// Prints the results of a command that changes something, if JSON is wanted.
void PrintDone(const std::vector<struct Done>& done, const Settings& settings);

// Prints a line for people on standard error. Scripts get the output of PrintDone.
void Say(const Settings& settings, const std::string& line);

// Prints to standard output without buffering. A reader that went away is not an error.
void Print(const std::string& text);

}  // namespace mr::ctl
