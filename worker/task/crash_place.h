// Describes the record at which an operator failed, or at which a dead or hanging process was.
#pragma once

#include <string>

#include "worker/task/protocol.h"

namespace mr::task {

// Returns "record 18 of its input, 'a line', in the batch that begins at file:///a.txt, byte 0", as far as the page has
// it; "" if the operator worked on no batch. exact: the place of the record, if it is known; it then replaces that of
// the batch. Trusts no byte of the page, and escapes what it shows.
std::string CrashPlace(const ProgressPage& page, const std::string& exact = "");

// Returns the number of records of its input that the operator has begun. If it is not known at which record of its
// batch the operator is, those of the whole batch count. Trusts no byte of the page.
uint64_t RecordsBegun(const ProgressPage& page);

}  // namespace mr::task
