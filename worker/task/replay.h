// `mrtask replay FILE`: runs one attempt again, here and without a daemon. Counts and drops what it emits. mrctl writes
// the file: JSON with the fields of WireTask, and for each split the file that has its bytes.
#pragma once

#include <string>

namespace mr::task {

// Prints the result as JSON to standard output; output of the operator goes to standard error. Returns 0 if it ran to
// its end, 1 if it failed, 2 if the file is invalid.
int ReplayMain(const std::string& file);

}  // namespace mr::task
