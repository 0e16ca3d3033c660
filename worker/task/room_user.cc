#include "worker/task/room_user.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "common/io/files.h"

namespace mr::task {
namespace {

Status UserStepFailed(const std::string& step) {
  return Unavailable("cannot enter the task's room: " + step + ": " + strerror(errno));
}

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

Status MakeOwned(const std::string& path, mode_t mode, uid_t user, gid_t group) {
  if (mkdir(path.c_str(), mode) != 0 && errno != EEXIST) return UserStepFailed("make " + path);
  if (lchown(path.c_str(), user, group) != 0) return UserStepFailed("give away " + path);
  if (chmod(path.c_str(), mode) != 0) return UserStepFailed("close " + path);  // not only what the umask leaves
  return {};
}

// The bytes may be read by all who can enter the directory above, and are not written any more.
Status LinkInto(const std::string& from, const std::string& path) {
  // AT_SYMLINK_FOLLOW: the worker's side files are links into its cache.
  if (linkat(AT_FDCWD, from.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) != 0 && errno != EEXIST) {
    return UserStepFailed("link " + from + " to " + path);
  }
  if (chmod(path.c_str(), 0555) != 0) return UserStepFailed("open " + path);
  return {};
}

}  // namespace

int DropCapabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  return syscall(SYS_capset, &header, none) == 0 ? 0 : errno;
}

std::string RoomUser::MissingCapability() {
  constexpr std::pair<int, const char*> kNeeded[] = {{CAP_SETUID, "CAP_SETUID"},
                                                     {CAP_SETGID, "CAP_SETGID"},
                                                     {CAP_CHOWN, "CAP_CHOWN"},
                                                     {CAP_KILL, "CAP_KILL"},
                                                     {CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE"},
                                                     {CAP_FOWNER, "CAP_FOWNER"}};
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct has[_LINUX_CAPABILITY_U32S_3] = {};
  syscall(SYS_capget, &header, has);
  for (const auto& [number, name] : kNeeded) {
    if ((has[CAP_TO_INDEX(number)].effective & CAP_TO_MASK(number)) == 0) return name;
  }
  return "";
}

Status RoomUser::MakePlace(const WireTask& task) const {
  const std::string& place = task.scratch_directory;
  if (user_ == 0 || place.empty()) return {};
  constexpr uid_t kKeep = ~uid_t{0};
  MR_RETURN_IF_ERROR(MakeOwned(place, 0710, kKeep, user_));
  MR_RETURN_IF_ERROR(MakeOwned(place + "/tmp", 0700, user_, user_));
  if (task.library_path.starts_with(closed_)) {
    MR_RETURN_IF_ERROR(MakeOwned(place + "/lib", 0755, kKeep, kKeep));
    // A missing library has a better message when it is loaded.
    if (PathExists(task.library_path)) {
      MR_RETURN_IF_ERROR(LinkInto(task.library_path, place + "/lib/" + BaseName(task.library_path)));
    }
  }
  if (task.files_directory.empty()) return {};
  MR_RETURN_IF_ERROR(MakeOwned(place + "/files", 0755, kKeep, kKeep));
  MR_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(task.files_directory));
  for (const std::string& name : names) {
    MR_RETURN_IF_ERROR(LinkInto(task.files_directory + "/" + name, place + "/files/" + name));
  }
  return {};
}

void RoomUser::MoveInto(WireTask* task) const {
  if (user_ == 0 || task->scratch_directory.empty()) return;
  const std::string place = task->scratch_directory;
  task->scratch_directory = place + "/tmp";
  if (task->library_path.starts_with(closed_)) task->library_path = place + "/lib/" + BaseName(task->library_path);
  if (!task->files_directory.empty()) task->files_directory = place + "/files";
}

Status RoomUser::Become() const {
  if (user_ == 0) return {};
  int at_death = 0;
  prctl(PR_GET_PDEATHSIG, &at_death);
  const pid_t parent = getppid();
  if (setgroups(0, nullptr) != 0) return UserStepFailed("setgroups");
  if (setresgid(user_, user_, user_) != 0) return UserStepFailed("setresgid");
  if (setresuid(user_, user_, user_) != 0) return UserStepFailed("setresuid");
  if (prctl(PR_SET_PDEATHSIG, at_death) != 0) return UserStepFailed("prctl");
  if (getppid() != parent) _exit(1);  // it died before the line above
  return {};
}

}  // namespace mr::task
