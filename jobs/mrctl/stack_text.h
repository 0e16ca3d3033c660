// Finds the stack of an operator in the log of its attempt (worker/task/crash.h writes it).
#pragma once

#include <string>
#include <vector>

namespace mr::ctl {

// A stack in a log.
struct LoggedStack {
  std::vector<std::string> lines;  // a sentence, then the calls, innermost first; empty: there is none
  bool crashed = false;            // it is that of the process's end, and not a sample of an attempt without progress
};

// Returns the newest stack of a log: that of a crash, or a sample that the operator has not left behind by progress.
// The log is an operator's text: escape it before it is shown.
LoggedStack StackOf(const std::string& log);

}  // namespace mr::ctl
