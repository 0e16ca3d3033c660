// `mrctl sdk check LIBRARY`: whether it is an operator library that this machine can load, what is in it, and whether
// the stages of its jobs agree about the types of their records. A job whose plan needs arguments is left to submit and
// explain.
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
  LibraryInfo info;                     // empty where it could not be loaded
  std::vector<std::string> problems;    // none: it can be submitted
  std::vector<std::string> unchecked;   // jobs without a plan unless they get arguments: their types were not compared
};

// Reads the file, and has mrtask load it in a child. kNotFound where there is no such file, kInternal where mrtask
// cannot be asked; all else is in the report.
Result<LibraryReport> CheckLibrary(const std::string& path);

// "deterministic unordered ..." of mr_operator_flags.
std::string FlagWords(uint32_t flags);
std::string RenderLibrary(const LibraryReport& report, OutputForm form);

}  // namespace mr::ctl
