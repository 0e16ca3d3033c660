// `mrtask replay FILE`: runs one attempt again, here and without a daemon. Counts what it emits, and drops it or writes
// some partitions to files, from which a replay of a downstream task reads them. mrctl writes the file: JSON with the
// fields of WireTask, for each split the file that has its bytes, and for each segment the one that has its chunks.
#pragma once

#include <string>

namespace mr::task {

// Prints the result as JSON to standard output; output of the operator goes to standard error. watched: runs the
// attempt in a process of its own, so that there is a result even if this process dies. Returns 0 if the attempt ran to
// its end, 1 if it failed, 2 if the file is invalid.
int ReplayMain(const std::string& file, bool watched);

}  // namespace mr::task
