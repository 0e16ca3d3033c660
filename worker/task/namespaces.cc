#include "worker/task/namespaces.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "worker/task/protocol.h"
#include "worker/task/room_user.h"

namespace mr::task {
namespace {

Status NamespaceFailed(const char* step) { return Unavailable(std::string(step) + ": " + strerror(errno)); }

long RawClone(unsigned long flags, int* pidfd) {
  return syscall(SYS_clone, flags | CLONE_PIDFD | SIGCHLD, nullptr, pidfd, nullptr, 0);
}

// The keeper. `line` gives it the task's pidfd; its end without one means that there is no task.
[[noreturn]] void Keep(int line) {
  constexpr int kLine = 3;
  prctl(PR_SET_NAME, "mrtask keeper");
  signal(SIGCHLD, SIG_IGN);  // orphans are collected by the kernel
  if (line != kLine && dup2(line, kLine) < 0) _exit(1);
  for (int fd = 0; fd < kLine; ++fd) close(fd);  // the log of the worker
  syscall(SYS_close_range, static_cast<unsigned>(kLine + 1), ~0u, 0u);
  if (DropCapabilities() != 0) _exit(1);
  char byte = 0;
  std::vector<UniqueFd> fds;
  if (ReceiveWithFds(kLine, &byte, 1, &fds, 0) != 1 || fds.size() != 1) _exit(0);
  pollfd ended{fds[0].get(), POLLIN, 0};
  while (poll(&ended, 1, -1) < 0) {
  }
  _exit(0);  // the kernel kills the rest of the namespace
}

}  // namespace

Result<Namespaces> Namespaces::Make() {
  Namespaces made;
  made.own_pids_.reset(open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC));
  made.machine_network_.reset(open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
  if (!made.own_pids_.valid() || !made.machine_network_.valid()) return NamespaceFailed("open /proc/self/ns");
  if (unshare(CLONE_NEWNET) != 0) return NamespaceFailed("make a network namespace (CAP_SYS_ADMIN)");
  return made;
}

Result<Cloned> Namespaces::Clone(unsigned long flags) const {
  Cloned cloned;
  int fd = -1;
  if (!made()) {
    const long pid = RawClone(flags, &fd);
    if (pid < 0) return NamespaceFailed("clone");
    cloned.pid = static_cast<pid_t>(pid);
    cloned.pidfd.reset(fd);
    return cloned;
  }
  int line[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, line) != 0) return NamespaceFailed("socketpair");
  const UniqueFd ours(line[0]);
  UniqueFd theirs(line[1]);
  const long keeper = RawClone(CLONE_NEWPID, &fd);
  if (keeper < 0) return NamespaceFailed("clone with a process namespace");
  if (keeper == 0) {
    close(line[0]);
    Keep(line[1]);
  }
  const UniqueFd keeper_fd(fd);
  theirs.reset();
  cloned.keeper = static_cast<pid_t>(keeper);
  const std::string path = "/proc/" + std::to_string(keeper) + "/ns/pid";
  const UniqueFd pids(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!pids.valid() || setns(pids.get(), CLONE_NEWPID) != 0) return NamespaceFailed("enter a process namespace");
  const long pid = RawClone(flags | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS, &fd);
  if (pid == 0) return cloned;
  const int error = errno;
  if (setns(own_pids_.get(), CLONE_NEWPID) != 0) return NamespaceFailed("leave a process namespace");
  errno = error;
  if (pid < 0) return NamespaceFailed("clone with namespaces");
  cloned.pid = static_cast<pid_t>(pid);
  cloned.pidfd.reset(fd);
  const char byte = 0;
  if (const int failed = SendWithFds(ours.get(), &byte, 1, {fd}, 0); failed != 0) {
    errno = failed;
    return NamespaceFailed("start the keeper of a process namespace");
  }
  return cloned;
}

void Namespaces::Leave() {
  if (made()) setns(machine_network_.get(), CLONE_NEWNET);
  own_pids_.reset();
  machine_network_.reset();
}

Status Namespaces::Begin(bool network) const {
  if (!made()) return {};
  if (mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) return NamespaceFailed("make mounts private");
  if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0) {
    return NamespaceFailed("mount /proc");
  }
  if (network && setns(machine_network_.get(), CLONE_NEWNET) != 0) return NamespaceFailed("enter the network");
  return {};
}

}  // namespace mr::task
