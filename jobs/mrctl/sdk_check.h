// `mrctl sdk check LIBRARY`: checks that a file is an operator library that this machine can load, that the stages of
// its jobs agree about record types, and that a submit accepts their plans. Lists its contents. A job whose plan needs
// arguments is left to submit and explain.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "jobs/mrctl/elf_file.h"
#include "jobs/mrctl/options.h"
#include "jobs/mrctl/plan.h"

namespace mr::ctl {

struct LibraryReport {
  std::string path;
  uint64_t bytes = 0;
  std::vector<ElfFile::Version> needs;  // the highest of each family of each system library
  LibraryInfo info;                     // empty if it could not be loaded
  std::vector<std::string> problems;    // empty: the library can be submitted
  std::vector<std::string> warnings;    // things that a submit accepts, and that are probably meant otherwise
  std::vector<std::string> unchecked;   // jobs that cannot be planned without arguments: plans not checked
};

// Reads the file and lets mrtask load it in a child. Errors: kNotFound if there is no such file; kInternal if mrtask
// cannot run. All other faults are in the report.
Result<LibraryReport> CheckLibrary(const std::string& path);

// Checks the file as CheckLibrary does, without loading it. Adds warnings. Errors: kInvalidArgument with all problems,
// kNotFound, kInternal as CheckLibrary.
Status CheckLibraryFile(const std::string& path, std::vector<std::string>* warnings);

// Returns the faults for which a submit refuses this plan of the job, whatever its inputs and output are.
std::vector<std::string> PlanFaults(const Plan& plan, const std::string& job);

// Returns "deterministic unordered ..." for mr_operator_flags.
std::string FlagWords(uint32_t flags);
std::string RenderLibrary(const LibraryReport& report, OutputForm form);

}  // namespace mr::ctl
