// `mrtask replay FILE`: runs one attempt again, here and without a daemon. Counts and drops what it emits. mrctl writes
// the file: JSON with the fields of WireTask, and for each split the file that has its bytes.
#pragma once

#include <string>

namespace mr::task {

// Prints the result as JSON to standard output; output of the operator goes to standard error. watched: runs the
// attempt in a process of its own, so that there is a result even if this process dies. Returns 0 if the attempt ran to
// its end, 1 if it failed, 2 if the file is invalid.
int ReplayMain(const std::string& file, bool watched);

}  // namespace mr::task
