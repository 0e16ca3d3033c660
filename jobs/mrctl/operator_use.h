// Compares a plan with the functions of its operators: combiners, partitioners, groups (common/abi/operator_calls.h).
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"
#include "jobs/mrctl/plan.h"

namespace mr::ctl {

// Returns the errors of ports that need a function which their operator lacks, and of inputs that an operator cannot
// read. Such a job would fail at run time, or write a wrong result.
std::vector<std::string> UseFaults(const Plan& plan);
// Errors: kInvalidArgument with all of them.
Status CheckUse(const Plan& plan);

// Returns a warning for each partitioner, and a note for each combiner, that the plan does not use.
std::vector<std::string> UnusedFunctions(const Plan& plan);

}  // namespace mr::ctl
