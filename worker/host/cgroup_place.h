// Finds the control groups of this process, where a worker makes those of its tasks (cgroups.h). Pure: takes the texts
// of /proc/self/mountinfo and /proc/self/cgroup.
#pragma once

#include <string>
#include <string_view>

#include "common/base/status.h"

namespace mr::worker {

// Directories below which a worker makes its groups. With version 1 each controller has its own; cpu may be empty. With
// version 2 all three are the same.
struct CgroupPlace {
  bool unified = false;  // version 2
  std::string memory, pids, cpu;
};

// group: below the mounts, such as "/system.slice/tasks"; "" = the group of this process. Version 1 is used if memory
// and pids are mounted that way. Errors: kUnavailable, with the controller that is missing.
Result<CgroupPlace> FindCgroups(std::string_view mountinfo, std::string_view own, const std::string& group);

}  // namespace mr::worker
