// The means that rooms of tier 2 and above need (task/room.h): a user for each owner of jobs, and control groups.
// Empty below tier 2. Used by one thread.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "common/base/status.h"
#include "worker/host/cgroups.h"
#include "worker/host/task_users.h"

namespace mr::worker {

struct TaskHostOptions;

class RoomMeans {
 public:
  struct ForTask {
    uid_t user = 0;              // 0: the daemon's
    CgroupLeaf* leaf = nullptr;  // to be given back to cgroups()
  };
  RoomMeans() = default;
  // Opens the list of users and makes the groups. Errors: say what the machine lacks for tier 2.
  static Result<RoomMeans> Make(const TaskHostOptions& options);

  bool made() const { return cgroups_ != nullptr; }
  // Returns the means of an attempt. memory_bytes: its limit, or 0 for none. Errors: kUnavailable.
  Result<ForTask> Take(const std::string& owner, uint64_t memory_bytes);
  Cgroups* cgroups() const { return cgroups_.get(); }  // null if not made

 private:
  std::optional<TaskUsers> users_;
  std::unique_ptr<Cgroups> cgroups_;
  uint32_t processes_ = 0;
};

}  // namespace mr::worker
