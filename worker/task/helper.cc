// The helper: a clean, single-threaded process that makes children by a bare clone without exec. CLONE_PARENT makes the
// daemon the child's parent, which waits on the pidfd. When the daemon is gone, however it ended, the helper ends the
// children and all that they have started. It does not use clone3, because Docker's seccomp profile refuses it.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "common/io/clock.h"
#include "worker/task/child.h"
#include "worker/task/crash.h"
#include "worker/task/lease.h"
#include "worker/task/library.h"
#include "worker/task/process_tree.h"
#include "worker/task/protocol.h"

namespace mr::task {
namespace {

// How long all that children have started may take to end when the daemon is gone (all of an attempt ends within 2 s).
constexpr Duration kEndLimit = Millis(1500);

// A child that has not been reaped, as far as the daemon has reported; with the daemon's ends of its socket and its log
// (SpawnFd).
struct Kept {
  UniqueFd pidfd, control, log;
  bool ended() const {
    pollfd p{pidfd.get(), POLLIN, 0};
    return poll(&p, 1, 0) == 1;
  }
  void Signal(int signal) const { syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr, 0); }
};
using Children = std::map<pid_t, Kept>;

// Ends all children. Their parent is now init, so the pid of an ended child may be reused. Each child is checked before
// its pid is used.
void EndAll(const Children& children) {
  // Stopped children start nothing more, and what they have started stays below them.
  for (const auto& [pid, child] : children) child.Signal(SIGSTOP);
  for (const auto& [pid, child] : children) {
    if (!child.ended()) KillBelow(pid, {});  // no tree waits for the slow end of another
  }
  const Instant end = Now() + kEndLimit;
  for (const auto& [pid, child] : children) {
    if (!child.ended()) {
      KillBelow(pid, std::max(Duration{}, end - Now()));
      kill(-pid, SIGKILL);  // in case /proc is incomplete
    }
    child.Signal(SIGKILL);
  }
  // Kills what ended children had left to the daemon, which did not come to end it.
  if (const char* life = getenv(kMarkVariable)) KillMarked(std::string(kMarkVariable) + "=" + life, "", kEndLimit);
}

// How much sooner than the daemon the kernel kills a child when memory runs out, on its scale of 1000 (500: half of all
// memory; guess).
constexpr int kOomScoreAbove = 500;

// Sets up what children inherit, because opening a file would take each of them some 10 us. The kernel also kills the
// helper sooner than the daemon: it is replaced.
bool PrepareForChildren() {
  const UniqueFd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!null.valid() || dup2(null.get(), 0) < 0) {
    dprintf(2, "mrtask: cannot open /dev/null, the standard input of tasks: %s\n", strerror(errno));
    return false;
  }
  const int fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
  if (fd < 0) return true;  // no /proc
  char text[16] = {};
  if (pread(fd, text, sizeof text - 1, 0) > 0) dprintf(fd, "%d", std::min(1000, atoi(text) + kOomScoreAbove));
  close(fd);
  return true;
}

SpawnReply Spawn(int socket, const SpawnRequest& request, std::vector<UniqueFd>& fds, pid_t daemon, Room* room,
                 UniqueFd* pidfd) {
  if (fds.size() < kSpawnFds) return {0, EBADMSG};
  Result<Cloned> child = room->Clone(CLONE_PARENT);
  if (!child.ok()) return {0, errno == 0 ? EAGAIN : errno};
  if (child->pid == 0) {
    close(socket);
    ChildSetup setup;
    setup.control = fds[kTheirControl].get();
    setup.arena = fds[kTheirArena].get();
    setup.log = fds[kTheirLog].get();
    for (size_t i = kSpawnFds; i < fds.size(); ++i) setup.joins.push_back(fds[i].get());
    setup.parent = child->keeper == 0 ? daemon : 0;
    setup.user = request.user;
    setup.network = request.network != 0;
    ChildMain(setup, room);
  }
  *pidfd = std::move(child->pidfd);
  return {child->pid, 0, child->keeper};
}

}  // namespace

int HelperMain(int socket, const std::string& library, uint32_t protocol, const RoomOptions& rooms) {
  const pid_t daemon = getppid();
  // Ctrl-C of a terminal is for the daemon. The helper must outlive it, to clean up.
  setsid();
  signal(SIGINT, SIG_IGN);
  signal(SIGTERM, SIG_IGN);
  signal(SampleSignal(), SIG_IGN);  // children inherit it: a sample may come before its handler (crash.h)
  if (!PrepareForChildren()) return 1;
  WarmUpBacktrace();
  unsetenv("LD_BIND_NOW");  // it was for this process
  HelperHello hello;
  Result<Room> room = Room::Prepare(rooms, library);
  if (room.ok()) {
    hello.tier = room->tier();
    hello.landlock_abi = room->landlock_abi();
  }
  const std::string& why = room.ok() ? room->why() : room.status().message();
  why.copy(hello.why, sizeof hello.why - 1);
  if (SendWithFds(socket, &hello, sizeof hello, {}, 0) != 0 || protocol != kTaskProtocol || !room.ok()) return 1;
  // If it cannot be loaded, the tasks that need it report the error.
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
    if (got != sizeof request || request.ended_count > SpawnRequest::kMostEnded) break;
    while (waitpid(-1, nullptr, WNOHANG) > 0) {  // keepers, which end with their children (namespaces.h)
    }
    for (uint32_t i = 0; i < request.ended_count; ++i) {
      children.erase(request.ended[i]);
      lease.Forget(request.ended[i]);
    }
    if (request.op == HelperOp::kForget) continue;
    if (request.op == HelperOp::kAdopt) {
      // It has not been reaped: the daemon waits for no child while it replaces the helper.
      UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, request.pid, 0)));
      if (!pidfd.valid() || fds.size() != 2) continue;
      if (request.leased) lease.Add(request.pid, UniqueFd(dup(pidfd.get())));
      children[request.pid] = {std::move(pidfd), std::move(fds[0]), std::move(fds[1])};
      continue;
    }
    UniqueFd pidfd;
    const SpawnReply reply =
        request.leased && lease.over() ? SpawnReply{0, ETIME} : Spawn(socket, request, fds, daemon, &*room, &pidfd);
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
  _exit(0);  // the checks that a sanitizer makes at the end need calls that the filter denies
}

}  // namespace mr::task
