// The helper: a clean, single-threaded process, so that a child can be made by a bare clone and go
// on without exec. CLONE_PARENT makes the daemon the child's parent (it waits on the pidfd), and
// PDEATHSIG follow the daemon. clone3 is refused by Docker's seccomp profile.
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <set>

#include "worker/task/child.h"
#include "worker/task/lease.h"
#include "worker/task/library.h"
#include "worker/task/protocol.h"

namespace mr::task {
namespace {

SpawnReply Spawn(int socket, std::vector<UniqueFd>& fds, pid_t daemon, UniqueFd* pidfd) {
  if (fds.size() != 3) return {0, EBADMSG};
  int fd = -1;
  const long pid = syscall(SYS_clone, CLONE_PARENT | CLONE_PIDFD | SIGCHLD, nullptr, &fd, nullptr, 0);
  if (pid < 0) return {0, errno};
  if (pid == 0) {
    close(socket);
    ChildMain(fds[0].get(), fds[1].get(), fds[2].get(), daemon);
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
  std::set<pid_t> alive;  // sessions of children: their process groups
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
      alive.erase(request.pid);
      lease.Forget(request.pid);
      continue;
    }
    if (request.op == HelperOp::kAdopt) {
      alive.insert(request.pid);
      // Not reaped by now: the daemon waits for no child while it replaces the helper.
      UniqueFd pidfd(request.leased ? static_cast<int>(syscall(SYS_pidfd_open, request.pid, 0)) : -1);
      if (pidfd.valid()) lease.Add(request.pid, std::move(pidfd));
      continue;
    }
    UniqueFd pidfd;
    const SpawnReply reply =
        request.leased && lease.over() ? SpawnReply{0, ETIME} : Spawn(socket, fds, daemon, &pidfd);
    if (reply.error == 0) alive.insert(reply.pid);
    if (reply.error == 0 && request.leased) lease.Add(reply.pid, UniqueFd(dup(pidfd.get())));
    std::vector<int> out;
    if (pidfd.valid()) out.push_back(pidfd.get());
    if (SendWithFds(socket, &reply, sizeof reply, out, 0) != 0) break;
  }
  // The daemon is gone. Children die by PDEATHSIG; this also ends what they started.
  for (pid_t pid : alive) kill(-pid, SIGKILL);
  return 0;
}

}  // namespace mr::task
