// The invariants of a master core, which hold after any record.
#pragma once

#include <string>
#include <vector>

#include "master/core/master_core.h"

namespace mr::sim {

// Returns "" or the invariant that does not hold: of the scheduler's own state, and between it and what people see of
// jobs.
std::string CheckCore(const master::MasterCore& core);

// Returns "" or what the restored core lacks that the saved one had: field by field where a digest cannot tell, since
// the code that saves a state also makes its digest. ids: of submissions that either may know.
std::string CheckRestored(master::MasterCore& saved, master::MasterCore& restored, const std::vector<std::string>& ids);

}  // namespace mr::sim
