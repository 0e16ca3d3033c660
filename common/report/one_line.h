// One line for an error of several.
#pragma once

#include <string>

namespace mr::report {

// Returns an error in one line: its first line, and the place in the input, or the cause if the first line ends with a
// colon. The cause is the
// last line of what a command wrote; lines that the master adds after it (master/core/failure_text.h) are left out.
std::string OneLine(const std::string& error);

}  // namespace mr::report
