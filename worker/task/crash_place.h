// Describes the record at which an operator failed, or at which a dead or hanging process was.
#pragma once

#include <string>

#include "worker/task/protocol.h"

namespace mr::task {

// Returns "record 18 of its input, 'a line', in file:///a.txt, byte 812", as far as the page has it: "in the batch that
// begins at ..." without an exact place, "key 'a'" for a group that the operator reduces at its end or combines. Empty
// if the operator worked on nothing. exact: the place of the record, if it is known better. Trusts no byte of the page,
// and escapes what it shows.
std::string CrashPlace(const ProgressPage& page, const std::string& exact = "");

// The same for another note of the page.
std::string NotedPlace(const ProgressPage& page, const CrashNote& note, const std::string& exact = "");

// Returns the number of records of its input that the operator has begun. If it is not known at which record of its
// batch the operator is, those of the whole batch count. Trusts no byte of the page.
uint64_t RecordsBegun(const ProgressPage& page);

}  // namespace mr::task
