// `mrtask plan` and `mrtask check`: what mrctl asks of a library before a job is accepted, in a
// process that a bad library may take down with it.
#pragma once

#include <string>
#include <vector>

#include "common/abi/operator_table.h"

namespace mr::task {

// Print JSON (jobs/PLAN.md) and return 0, or print the reason on stderr and return 2.
int CheckMain(const std::string& library);
// argv: [--memory BYTES] [--bytes N URI]... LIBRARY JOB [ARGS...]; what stands before LIBRARY is what the job's plan is
// told of sizes.
int PlanMain(const std::vector<std::string>& argv);
// Prints the paths of mrtask and of the libraries that are loaded with it, one a line.
int LibrariesMain();

}  // namespace mr::task
