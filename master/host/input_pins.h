// Inputs of jobs in the block store: finds the files of an URI, and pins them so that they stay unchanged until the job
// has ended.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/io/input_files.h"
#include "dfs/meta/caller_files.h"
#include "master/host/driver.h"
#include "master/host/host_clock.h"
#include "master/host/planner.h"

namespace mr::master {

// Returns the files behind a dfs:// URI: a file, a directory, or a pattern in its last component. Errors: kNotFound
// with the nearest name; kRejected: jobs are writing there; kNotAllowed: a part of it is not the caller's to read.
Result<std::vector<InputFile>> DfsFiles(const dfs::CallerFiles& files, const std::string& uri);

// Thread: the master's.
class InputPins {
 public:
  InputPins(Driver& driver, HostClock& clock);

  // Keeps the context's inputs in the block store unchanged until Release. Returns the pin; 0: there is nothing to pin.
  uint64_t Pin(const PlanContext& context);
  void Release(uint64_t pin);
  // Releases the pins that no unfinished job holds.
  void ReleaseStray();

 private:
  Driver& driver_;
  MasterCore& core_;
  HostClock& clock_;
};

}  // namespace mr::master
