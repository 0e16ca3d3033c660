// `mrtask replay FILE`: one attempt again, here and without a daemon; what it emits is counted and dropped. Asked by
// mrctl, which writes the file: JSON with the fields of WireTask, and for each split the file that has its bytes.
#pragma once

#include <string>

namespace mr::task {

// Prints what came of it as JSON on standard output (what the operator prints goes to standard error). 0: it ran to its
// end; 1: it failed; 2: the file is no such.
int ReplayMain(const std::string& file);

}  // namespace mr::task
