// Describes the record at which the operator of a dead or hanging process was.
#pragma once

#include <string>

#include "worker/task/protocol.h"

namespace mr::worker {

// Returns "record 18 of its input, 'a line', in the batch that begins at file:///a.txt, byte 0", as far as the page has
// it; "" if the operator worked on no batch. Trusts no byte of the page, and escapes what it shows.
std::string CrashPlace(const task::ProgressPage& page);

}  // namespace mr::worker
