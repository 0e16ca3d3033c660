// The helper: a clean, single-threaded process, so that a child can be made by a bare clone and go
// on without exec. CLONE_PARENT makes the daemon the child's parent (it waits on the pidfd). When the daemon is gone, however
// it ended, the helper ends the children and all that they have started. clone3 is refused by Docker's seccomp profile.
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "common/io/clock.h"
#include "worker/task/child.h"
#include "worker/task/lease.h"
#include "worker/task/library.h"
#include "worker/task/process_tree.h"
#include "worker/task/protocol.h"

namespace mr::task {
namespace {

// How long all that children have started may take to end when the daemon is gone (all of an attempt ends within 2 s).
constexpr Duration kEndLimit = Millis(1500);

// A child that the daemon has not reaped, and the daemon's ends of its socket and of its log (SpawnFd).
struct Kept {
  UniqueFd pidfd, control, log;
  bool ended() const {
    pollfd p{pidfd.get(), POLLIN, 0};
    return poll(&p, 1, 0) == 1;
  }
  void Signal(int signal) const { syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr, 0); }
};
using Children = std::map<pid_t, Kept>;

// Whose parent is the init process: one that has ended gives its number away. So each is looked at before its number is used.
void EndAll(const Children& children) {
  // Stopped they start nothing more, and what they have started stays below them.
  for (const auto& [pid, child] : children) child.Signal(SIGSTOP);
  for (const auto& [pid, child] : children) {
    if (!child.ended()) KillBelow(pid, {});  // no tree waits for the slow end of another
  }
  const Instant end = Now() + kEndLimit;
  for (const auto& [pid, child] : children) {
    if (!child.ended()) {
      KillBelow(pid, std::max(Duration{}, end - Now()));
      kill(-pid, SIGKILL);  // where /proc says nothing
    }
    child.Signal(SIGKILL);
  }
  // What an ended child had left to the daemon, which did not come to end it.
  if (const char* life = getenv(kMarkVariable)) KillMarked(std::string(kMarkVariable) + "=" + life, "", kEndLimit);
}

SpawnReply Spawn(int socket, std::vector<UniqueFd>& fds, pid_t daemon, UniqueFd* pidfd) {
  if (fds.size() != kSpawnFds) return {0, EBADMSG};
  int fd = -1;
  const long pid = syscall(SYS_clone, CLONE_PARENT | CLONE_PIDFD | SIGCHLD, nullptr, &fd, nullptr, 0);
  if (pid < 0) return {0, errno};
  if (pid == 0) {
    close(socket);
    ChildMain(fds[kTheirControl].get(), fds[kTheirArena].get(), fds[kTheirLog].get(), daemon);
  }
  pidfd->reset(fd);
  return {static_cast<int32_t>(pid), 0};
}

}  // namespace

int HelperMain(int socket, const std::string& library, uint32_t protocol) {
  const pid_t daemon = getppid();
  // Ctrl-C of a terminal is the daemon's affair; the helper must outlive it to clear up.
  setsid();
  signal(SIGINT, SIG_IGN);
  signal(SIGTERM, SIG_IGN);
  const HelperHello hello;
  if (SendWithFds(socket, &hello, sizeof hello, {}, 0) != 0 || protocol != kTaskProtocol) return 1;
  // Where it cannot be loaded, the tasks that want it say so.
  if (!library.empty()) (void)LoadLibrary(library).ok();
  Lease lease(kLeaseFd);
  close(kLeaseFd);
  Children children;
  for (;;) {
    pollfd due[2] = {{socket, POLLIN, 0}, {lease.timer(), POLLIN, 0}};
    if (poll(due, 2, -1) < 0) continue;
    if (due[1].revents != 0) lease.Enforce();
    if (due[0].revents == 0) continue;
    SpawnRequest request;
    std::vector<UniqueFd> fds;
    const long got = ReceiveWithFds(socket, &request, sizeof request, &fds, 0);
    if (got != sizeof request) break;
    if (request.op == HelperOp::kForget) {
      children.erase(request.pid);
      lease.Forget(request.pid);
      continue;
    }
    if (request.op == HelperOp::kAdopt) {
      // Not reaped by now: the daemon waits for no child while it replaces the helper.
      UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, request.pid, 0)));
      if (!pidfd.valid() || fds.size() != 2) continue;
      if (request.leased) lease.Add(request.pid, UniqueFd(dup(pidfd.get())));
      children[request.pid] = {std::move(pidfd), std::move(fds[0]), std::move(fds[1])};
      continue;
    }
    UniqueFd pidfd;
    const SpawnReply reply =
        request.leased && lease.over() ? SpawnReply{0, ETIME} : Spawn(socket, fds, daemon, &pidfd);
    if (reply.error == 0 && request.leased) lease.Add(reply.pid, UniqueFd(dup(pidfd.get())));
    std::vector<int> out;
    if (pidfd.valid()) out.push_back(pidfd.get());
    const bool heard = SendWithFds(socket, &reply, sizeof reply, out, 0) == 0;
    if (reply.error == 0) {
      children[reply.pid] = {std::move(pidfd), std::move(fds[kOwnControl]), std::move(fds[kOwnLog])};
    }
    if (!heard) break;
  }
  EndAll(children);
  return 0;
}

}  // namespace mr::task
