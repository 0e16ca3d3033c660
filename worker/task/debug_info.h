// Reads the debug information of loaded ELF files: the functions and source lines at an address, by elfutils' libdw.
// Whoever builds a file decides what is in it, so only the confined process `mrtask frames` uses this (frames.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "worker/task/frames.h"

namespace mr::task {

class DebugInfo {
 public:
  // maps: the text of /proc/PID/maps of the process. Without libdw on this machine nothing is known.
  explicit DebugInfo(const std::string& maps);
  ~DebugInfo();
  DebugInfo(const DebugInfo&) = delete;
  DebugInfo& operator=(const DebugInfo&) = delete;

  // Returns the calls at this address, innermost first: the inlined ones, and then the function that contains them.
  // Empty if the file has no debug information. Separate files of debug information are not looked for.
  std::vector<SourceCall> At(uint64_t address);

 private:
  struct Library;
  std::unique_ptr<Library> library_;
};

}  // namespace mr::task
