// The invariants of a master core, which hold after any record.
#pragma once

#include <string>
#include <vector>

#include "master/core/master_core.h"

namespace mr::sim {

// Returns "" or the first invariant that does not hold: within the scheduler's state, or between that state and the job
// table that clients read.
std::string CheckCore(const master::MasterCore& core);

// Returns "" or the first difference between a core and the one restored from its snapshot. It compares fields as well
// as digests, because the code that saves a state also computes its digest. ids: the submission ids to look up in both.
std::string CheckRestored(master::MasterCore& saved, master::MasterCore& restored, const std::vector<std::string>& ids);

}  // namespace mr::sim
