// The invariants of a master core, which hold after any record.
#pragma once

#include <string>

#include "master/core/master_core.h"

namespace mr::sim {

// Returns "" or the invariant that does not hold: of the scheduler's own state, and between it and what people see of
// jobs.
std::string CheckCore(const master::MasterCore& core);

}  // namespace mr::sim
