// A control group that limits how much of a CPU its processes get together (cgroup 1 or 2). Needs root.
#pragma once

#include <sys/types.h>

#include <string>

#include "common/base/status.h"

namespace mr::bench {

class CpuGroup {
 public:
  CpuGroup() = default;
  CpuGroup(CpuGroup&& other) noexcept : path_(std::move(other.path_)), unified_(other.unified_) { other.path_.clear(); }
  CpuGroup& operator=(CpuGroup&&) = delete;
  ~CpuGroup();  // its processes go back to the parent group

  // For this process: "paceline-<pid>-<name>". kUnavailable with what is missing: a controller that may be written.
  static Result<CpuGroup> Make(const std::string& name);
  // Where groups are made, on this machine.
  static std::string Root();
  // The process, and all that descend from it now or later.
  Status Take(pid_t pid) const;
  // cpus: 0.2 is a fifth of one core. At least 0.02.
  Status Limit(double cpus) const;

 private:
  std::string path_;
  bool unified_ = false;
};

// Removes groups that a process made which was killed since: those that are empty, and whose maker is gone. How many.
int RemoveStaleGroups(const std::string& root);

}  // namespace mr::bench
