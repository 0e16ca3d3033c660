// `mrtask plan` and `mrtask check`: examine a library for mrctl before a job is accepted, in a process that a bad
// library may crash.
#pragma once

#include <string>
#include <vector>

#include "common/abi/operator_table.h"

namespace mr::task {

// Each prints JSON (jobs/PLAN.md) and ends the process with 0, or prints the reason to stderr and returns 2. What the
// library prints to standard output goes to standard error.
int CheckMain(const std::string& library);
// argv: [--memory BYTES] [--bytes N URI]... LIBRARY JOB [ARGS...]. The options before LIBRARY are the sizes that the
// job's plan can ask for. Returns 3 if the plan function refuses the arguments.
int PlanMain(const std::vector<std::string>& argv);
// Prints the paths of mrtask and of the libraries that are loaded with it, one per line.
int LibrariesMain();

}  // namespace mr::task
