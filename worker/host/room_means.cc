#include "worker/host/room_means.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "common/io/clock.h"
#include "common/io/files.h"
#include "common/model/caller.h"
#include "worker/host/memory_share.h"
#include "worker/host/task_host.h"

namespace mr::worker {
namespace {

// The hard limit of processes, above the one of --task_processes, so that the check of the latter can report its text
// before forks fail.
constexpr uint32_t HardLimit(uint32_t processes) { return processes == 0 ? 0 : processes + processes / 4 + 16; }

}  // namespace

Result<RoomMeans> RoomMeans::Make(const TaskHostOptions& options) {
  struct stat info;
  if (stat(options.data_directory.c_str(), &info) != 0) {
    return ErrnoStatus(errno, "cannot read the data directory '" + options.data_directory + "'");
  }
  RoomMeans means;
  MR_ASSIGN_OR_RETURN(means.users_, TaskUsers::Open(options.data_directory + "/task_users", options.task_users));
  MR_ASSIGN_OR_RETURN(const std::string mounts, ReadFile("/proc/self/mountinfo"));
  MR_ASSIGN_OR_RETURN(const std::string own, ReadFile("/proc/self/cgroup"));
  Cgroups::Options groups;
  MR_ASSIGN_OR_RETURN(groups.place, FindCgroups(mounts, own, options.cgroup_root));
  groups.family = "paceline-" + std::to_string(info.st_dev) + "-" + std::to_string(info.st_ino) + "-";
  groups.name = groups.family + std::to_string(RandomId());
  groups.leaves = std::max(1u, options.slots);
  if (options.memory_bytes != 0) groups.memory_bytes = options.memory_bytes + groups.leaves * kMemoryBeside;
  means.processes_ = HardLimit(options.processes);
  MR_ASSIGN_OR_RETURN(means.cgroups_, Cgroups::Make(groups));
  return means;
}

Result<RoomMeans::ForTask> RoomMeans::Take(const std::string& owner, uint64_t memory_bytes) {
  ForTask out;
  if (!made()) return out;
  MR_ASSIGN_OR_RETURN(out.user, users_->UserOf(owner.empty() ? kNoOwner : owner));
  const CgroupLimits limits{memory_bytes == 0 ? 0 : memory_bytes + kMemoryBeside, processes_};
  MR_ASSIGN_OR_RETURN(out.leaf, cgroups_->Take(limits));
  return out;
}

}  // namespace mr::worker
