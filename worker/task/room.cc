#include "worker/task/room.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/capability.h>
#include <stdio.h>
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

int DropCapabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  return syscall(SYS_capset, &header, none) == 0 ? 0 : errno;
}

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
  const bool file_rules = !options.own_rights && options.tier != 0 && room.landlock_abi_ > 0;
  MR_ASSIGN_OR_RETURN(const SyscallFilter base,
                      SyscallFilter::Compile(file_rules ? FilterKind::kBaseAndModes : FilterKind::kBase));
  for (const FilterKind kind : {FilterKind::kNoSockets, FilterKind::kInternet}) {
    MR_ASSIGN_OR_RETURN(SyscallFilter filter, SyscallFilter::Compile(kind));
    room.filters_.push_back(std::move(filter));
  }
  if (const int error = base.Install(); error != 0) {
    return Unavailable(std::string("the kernel takes no filter of system calls: ") + strerror(error));
  }
  if (options.own_rights) {
    room.why_ = "tasks have the rights of the worker's user";
  } else if (room.landlock_abi_ == 0) {
    room.why_ = "the kernel has no Landlock, or it is not enabled at boot (lsm=landlock,...)";
  } else if (options.tier != 0) {
    room.KnowSystem();
    if (!library.empty()) room.Know(library, Landlock::kRead);
    room.Know("/proc/self/exe", Landlock::kRead);
    for (const RoomPath& p : options.paths) room.Know(p.path, p.write ? Landlock::kReadWrite : Landlock::kRead);
    room.tier_ = 1;
  }
  if (!options.own_rights) {
    if (const int error = DropCapabilities(); error != 0) return ErrnoStatus(error, "cannot drop capabilities");
  }
  room.why_ = room.tier_ > 0 ? room.Try() : room.why_;
  if (room.tier_ > 0 && !room.why_.empty()) {
    room.tier_ = 0;
    room.known_.clear();
  }
  if (room.tier_ == 0) {
    if (const std::string wrong = room.Try(); !wrong.empty()) return Unavailable(wrong);
  }
  return room;
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

int Room::Begin() {
  if (!HasFileRules()) return 0;
  if (const int error = rules_.Make(landlock_abi_); error != 0) return error;
  for (const Known& known : known_) {
    if (const int error = rules_.Allow(known.at.get(), known.access); error != 0) return error;
  }
  return 0;
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
  return task.files_directory.empty() ? Status::Ok() : AllowSideFiles(task.files_directory);
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
  if (!task.scratch_directory.empty()) {
    if (mkdir(task.scratch_directory.c_str(), 0700) != 0 && errno != EEXIST) {
      return StepFailed("make " + task.scratch_directory, errno);
    }
  }
  if (HasFileRules()) {
    MR_RETURN_IF_ERROR(AllowTask(task));
    if (const int error = rules_.Enter(); error != 0) return StepFailed("Landlock", error);
  }
  if (!own_rights_ && !task.scratch_directory.empty()) {
    // The daemon's own are outside of the room.
    if (chdir(task.scratch_directory.c_str()) != 0) return StepFailed("enter " + task.scratch_directory, errno);
    setenv("HOME", task.scratch_directory.c_str(), 1);
  }
  if (const int error = filters_[task.network ? 1 : 0].Install(); error != 0) return StepFailed("seccomp", error);
  prctl(PR_SET_DUMPABLE, 1);  // user code may read its own /proc/self and dump its own stack
  return {};
}

std::string Room::Try() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return std::string("cannot make a pipe: ") + strerror(errno);
  const UniqueFd from(ends[0]);
  UniqueFd to(ends[1]);
  const pid_t pid = fork();
  if (pid < 0) return std::string("cannot start a process: ") + strerror(errno);
  if (pid == 0) {
    std::string wrong;
    if (const int error = Begin(); error != 0) wrong = std::string("cannot make rules: ") + strerror(error);
    if (wrong.empty()) {
      if (const Status entered = Enter({}); !entered.ok()) wrong = entered.message();
    }
    if (wrong.empty() && (socket(AF_UNIX, SOCK_STREAM, 0) >= 0 || errno != EACCES)) {
      wrong = "a process in a room can make sockets";
    }
    if (wrong.empty() && HasFileRules() && (open("/", O_RDONLY | O_DIRECTORY) >= 0 || errno != EACCES)) {
      wrong = "a process in a room can list /";
    }
    (void)!write(to.get(), wrong.data(), wrong.size());
    _exit(wrong.empty() ? 0 : 1);
  }
  to.reset();
  std::string wrong;
  char text[512];
  for (ssize_t got; (got = read(from.get(), text, sizeof text)) > 0;) wrong.append(text, static_cast<size_t>(got));
  int status = 0;
  waitpid(pid, &status, 0);
  if (wrong.empty() && status != 0) wrong = "a process in a room ended with status " + std::to_string(status);
  return wrong;
}

}  // namespace mr::task
