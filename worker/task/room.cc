#include "worker/task/room.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "common/io/files.h"

namespace mr::task {
namespace {

// Files of the system that commands and interpreters read. Not /etc as a whole: it has keys and password hashes. A
// pattern that matches nothing is skipped.
constexpr const char* kSystemPaths[] = {
    "/usr", "/bin", "/sbin", "/lib*",
    // Loader, users' names, language, time, name look-ups, interpreters.
    "/etc/ld.so.cache", "/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/localtime", "/etc/timezone",
    "/etc/locale.alias", "/etc/alternatives", "/etc/mime.types", "/etc/magic", "/etc/hosts", "/etc/host.conf",
    "/etc/resolv.conf", "/etc/services", "/etc/protocols", "/etc/gai.conf", "/etc/ssl/certs", "/etc/ssl/openssl.cnf",
    "/etc/perl", "/etc/python3*", "/etc/java*", "/etc/R",
    // Numbers of cores and limits. Landlock hides memory, environment and descriptors of processes outside of the room.
    "/proc", "/sys/devices/system", "/sys/fs/cgroup", "/sys/kernel/mm/transparent_hugepage", "/dev/random",
    "/dev/urandom"};
constexpr const char* kWritableDevices[] = {"/dev/null", "/dev/zero", "/dev/full"};

// Returns whether the path leads below /usr, which is allowed as a whole. Debian has links there for /bin and /lib.
bool IsBelowUsr(const char* path) {
  char* const real = realpath(path, nullptr);
  const bool below = real != nullptr && strncmp(real, "/usr/", 5) == 0;
  free(real);
  return below;
}

Status StepFailed(const std::string& step, int error) {
  return Unavailable("cannot enter the task's room: " + step + ": " + strerror(error));
}

}  // namespace

Result<Room> Room::Prepare(const RoomOptions& options, const std::string& library) {
  Room room;
  room.own_rights_ = options.own_rights;
  // Children are other processes, so no memory of this one may be read by what has the same user.
  prctl(PR_SET_DUMPABLE, 0);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return ErrnoStatus(errno, "cannot give up new privileges");
  room.landlock_abi_ = LandlockAbi();
  if (!options.scratch.empty()) room.closed_ = options.scratch.substr(0, options.scratch.rfind('/') + 1);
  for (const FilterKind kind : {FilterKind::kNoSockets, FilterKind::kInternet}) {
    MR_ASSIGN_OR_RETURN(SyscallFilter filter, SyscallFilter::Compile(kind));
    room.filters_.push_back(std::move(filter));
  }
  int tier = room.Best(options, &room.why_);
  if (tier >= 1) {
    room.KnowSystem();
    if (!library.empty()) room.Know(library, Landlock::kRead);
    room.Know("/proc/self/exe", Landlock::kRead);
    for (const RoomPath& p : options.paths) room.Know(p.path, p.write ? Landlock::kReadWrite : Landlock::kRead);
  }
  for (;; --tier) {
    const Status prepared = room.PrepareTier(tier);
    const std::string wrong = prepared.ok() ? room.Try(options) : prepared.message();
    if (wrong.empty()) break;
    if (tier == 0) return Unavailable(wrong);
    room.why_ = "tier " + std::to_string(tier) + ": " + wrong;
    room.namespaces_.Leave();
  }
  if (tier == 0) room.known_.clear();
  if (tier >= 3) return room;  // the base filter denies what the helper does for each child
  if (const int error = room.base_.Install(); error != 0) {
    return Unavailable(std::string("the kernel takes no filter of system calls: ") + strerror(error));
  }
  room.base_installed_ = true;
  if (tier < 2 && !options.own_rights) {
    if (const int error = DropCapabilities(); error != 0) return ErrnoStatus(error, "cannot drop capabilities");
  }
  return room;
}

int Room::Best(const RoomOptions& options, std::string* why) const {
  const int most = options.tier == kBestTier ? kHighestTier : options.tier;
  if (options.own_rights) {
    *why = "tasks have the rights of the worker's user";
    return 0;
  }
  if (landlock_abi_ == 0) {
    *why = "tier 1: the kernel has no Landlock, or it is not enabled at boot (lsm=landlock,...)";
    return 0;
  }
  if (most < 2) return most;
  const std::string missing = RoomUser::MissingCapability();
  if (options.trial_user == 0) {
    *why = "tier 2: tasks have no users of their own (--task_uids)";
  } else if (!missing.empty()) {
    *why = "tier 2: the worker lacks " + missing + "; run it as root, or as a service with AmbientCapabilities";
  } else {
    return most;
  }
  return 1;
}

Status Room::PrepareTier(int tier) {
  tier_ = tier;
  MR_ASSIGN_OR_RETURN(base_, SyscallFilter::Compile(tier == 0   ? FilterKind::kBase
                                                    : tier == 1 ? FilterKind::kBaseAndModes
                                                                : FilterKind::kBaseAndSetId));
  namespaces_ = {};
  if (tier >= 3) {
    MR_ASSIGN_OR_RETURN(namespaces_, Namespaces::Make());
  }
  return {};
}

void Room::Know(const std::string& path, Landlock::Access access) {
  UniqueFd at(open(path.c_str(), O_PATH | O_CLOEXEC));
  if (at.valid()) known_.push_back({std::move(at), access});
}

void Room::KnowSystem() {
  for (const char* pattern : kSystemPaths) {
    glob_t found{};
    if (glob(pattern, 0, nullptr, &found) == 0) {
      for (size_t i = 0; i < found.gl_pathc; ++i) {
        if (!IsBelowUsr(found.gl_pathv[i])) Know(found.gl_pathv[i], Landlock::kRead);
      }
    }
    globfree(&found);
  }
  for (const char* device : kWritableDevices) Know(device, Landlock::kReadWrite);
}

Status Room::Begin(uid_t user, bool network) {
  if (tier_ >= 2) user_ = RoomUser(user, closed_);
  MR_RETURN_IF_ERROR(namespaces_.Begin(network));
  if (!HasFileRules()) return {};
  if (const int error = rules_.Make(landlock_abi_); error != 0) return StepFailed("Landlock", error);
  // Its own /proc is another file system than that of the helper.
  if (namespaces_.made()) Know("/proc", Landlock::kRead);
  for (const Known& known : known_) {
    if (const int error = rules_.Allow(known.at.get(), known.access); error != 0) return StepFailed("Landlock", error);
  }
  return {};
}

Status Room::AllowTask(const WireTask& task) {
  const std::pair<const std::string&, Landlock::Access> own[] = {{task.scratch_directory, Landlock::kReadWrite},
                                                                 {task.library_path, Landlock::kRead},
                                                                 {task.files_directory, Landlock::kRead}};
  for (const auto& [path, access] : own) {
    if (path.empty()) continue;
    const UniqueFd at(open(path.c_str(), O_PATH | O_CLOEXEC));
    if (!at.valid()) {
      if (&path == &task.library_path) continue;  // the attempt to load it has the better message
      return StepFailed("open " + path, errno);
    }
    if (const int error = rules_.Allow(at.get(), access); error != 0) return StepFailed("allow " + path, error);
  }
  if (task.files_directory.empty() || user_.user() != 0) return {};
  return AllowSideFiles(task.files_directory);
}

// They are links into the worker's cache of libraries, which is outside of the room.
Status Room::AllowSideFiles(const std::string& directory) {
  MR_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(directory));
  for (const std::string& name : names) {
    const std::string path = directory + "/" + name;
    const UniqueFd at(open(path.c_str(), O_PATH | O_CLOEXEC));
    if (!at.valid()) return StepFailed("open " + path, errno);
    if (const int error = rules_.Allow(at.get(), Landlock::kRead); error != 0)
      return StepFailed("allow " + path, error);
  }
  return {};
}

Status Room::Enter(const WireTask& task) {
  if (user_.user() == 0 && !task.scratch_directory.empty()) {
    if (mkdir(task.scratch_directory.c_str(), 0700) != 0 && errno != EEXIST) {
      return StepFailed("make " + task.scratch_directory, errno);
    }
  }
  if (HasFileRules()) {
    MR_RETURN_IF_ERROR(AllowTask(task));
  }
  MR_RETURN_IF_ERROR(user_.Become());
  if (!own_rights_ && DropCapabilities() != 0) return StepFailed("drop capabilities", errno);
  if (HasFileRules()) {
    if (const int error = rules_.Enter(); error != 0) return StepFailed("Landlock", error);
  }
  if (!own_rights_ && !task.scratch_directory.empty()) {
    // The daemon's own are outside of the room.
    if (chdir(task.scratch_directory.c_str()) != 0) return StepFailed("enter " + task.scratch_directory, errno);
    setenv("HOME", task.scratch_directory.c_str(), 1);
  }
  if (!base_installed_) {
    if (const int error = base_.Install(); error != 0) return StepFailed("seccomp", error);
  }
  if (const int error = filters_[task.network ? 1 : 0].Install(); error != 0) return StepFailed("seccomp", error);
  prctl(PR_SET_DUMPABLE, 1);  // user code may read its own /proc/self and dump its own stack
  return {};
}

std::string Room::Try(const RoomOptions& options) const {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return std::string("cannot make a pipe: ") + strerror(errno);
  const UniqueFd from(ends[0]);
  UniqueFd to(ends[1]);
  const Result<Cloned> child = namespaces_.Clone(0);
  if (!child.ok()) return child.status().message();
  if (child->pid == 0) {
    // This process has a copy of the room.
    const std::string wrong = const_cast<Room*>(this)->TryInChild(options);
    (void)!write(to.get(), wrong.data(), wrong.size());
    _exit(wrong.empty() ? 0 : 1);
  }
  to.reset();
  std::string wrong;
  char text[512];
  for (ssize_t got; (got = read(from.get(), text, sizeof text)) > 0;) wrong.append(text, static_cast<size_t>(got));
  int status = 0;
  waitpid(child->pid, &status, 0);
  if (child->keeper != 0) waitpid(child->keeper, nullptr, 0);
  if (wrong.empty() && status != 0) wrong = "a process in a room ended with status " + std::to_string(status);
  return wrong;
}

std::string Room::TryInChild(const RoomOptions& options) {
  const pid_t helper = getppid();  // 0 in a namespace of processes
  if (const Status begun = Begin(options.trial_user, false); !begun.ok()) return begun.message();
  if (const Status entered = Enter({}); !entered.ok()) return entered.message();
  if (socket(AF_UNIX, SOCK_STREAM, 0) >= 0 || errno != EACCES) return "a process in a room can make sockets";
  if (HasFileRules() && (open("/", O_RDONLY | O_DIRECTORY) >= 0 || errno != EACCES)) {
    return "a process in a room can list /";
  }
  if (tier_ < 2) return "";
  if (getuid() != options.trial_user || geteuid() != options.trial_user || setuid(0) == 0 ||
      (helper > 0 && kill(helper, 0) == 0)) {
    return "a process in a room keeps rights of the worker";
  }
  if (!options.scratch.empty() && access(options.scratch.c_str(), X_OK) != 0) {
    return "the users of tasks cannot enter " + options.scratch + ": " + strerror(errno) +
           "; give others the right x on the directories above --data (chmod o+x)";
  }
  return "";
}

}  // namespace mr::task
