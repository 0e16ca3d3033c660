// A control group that limits the CPU of its processes together (cgroup 1 or 2). Needs root.
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
  ~CpuGroup();  // moves its processes back to the parent group

  // Makes the group "paceline-<pid>-<name>" for this process. Errors: kUnavailable: no writable controller.
  static Result<CpuGroup> Make(const std::string& name);
  // Returns the directory of groups on this machine.
  static std::string Root();
  // Moves the process and its descendants into the group; later descendants follow.
  Status Take(pid_t pid) const;
  // Sets the limit. cpus: at least 0.02; 0.2 is a fifth of one core.
  Status Limit(double cpus) const;

 private:
  std::string path_;
  bool unified_ = false;
};

// Removes empty groups whose maker is gone, as a killed process leaves them. Returns their number.
int RemoveStaleGroups(const std::string& root);

}  // namespace mr::bench
