// The command `mrsim replay`.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"
#include "master/sim/replay/history_model.h"

namespace mr::sim {

struct ReplayCommand {
  std::string journal;  // a journal or a master's --data; for what-if also a history's file, "-": standard input
  std::string form = "table", job, history_out, model_out;
  std::string attempt;  // print the events and decisions of this attempt
  Change change;
  std::vector<std::string> compare;  // questions (compare_history.h)
  bool all_jobs = false;             // in the comparison's table
  bool wants_change() const {
    return !change.scheduler.empty() || change.workers > 0 || change.slots > 0 || !job.empty() || !compare.empty();
  }
};

// Checks that the file can be written, before a run that takes minutes. Errors: kInvalidArgument, with what to do.
Status CheckWritable(const std::string& option, const std::string& path);

// Prints to standard output. Returns the exit code (README.md).
Result<int> RunReplay(const ReplayCommand& command);

}  // namespace mr::sim
