// `mrsim replay`: what was asked for, and doing it.
#pragma once

#include <string>

#include "common/base/status.h"

namespace mr::sim {

struct ReplayCommand {
  std::string journal;  // or a master's --data
  std::string form = "table";
};

// Prints to standard output; the exit code (README.md).
Result<int> RunReplay(const ReplayCommand& command);

}  // namespace mr::sim
