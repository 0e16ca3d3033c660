#include "jobs/mrctl/stack_text.h"

#include <sstream>

#include "common/io/stack_lines.h"

namespace mr::ctl {

LoggedStack StackOf(const std::string& log) {
  constexpr size_t kMostLines = 64;  // more than a stack has (worker/task/crash.cc)
  LoggedStack found;
  bool open = false;  // lines of a stack follow
  std::istringstream in(log);
  for (std::string line; std::getline(in, line);) {
    const bool crash = line.starts_with(kCrashLine), stuck = line.starts_with(kStuckLine);
    if (crash || stuck) {
      found = {{line}, crash};
      open = true;
    } else if (open && (line.starts_with("  #") || line.starts_with("  ... ")) && found.lines.size() < kMostLines) {
      found.lines.push_back(line);
    } else {
      open = false;
      if (line.starts_with(kProgressLine) && !found.crashed) found = {};
    }
  }
  return found;
}

}  // namespace mr::ctl
