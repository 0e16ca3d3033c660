#include "jobs/mrctl/wait.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "common/io/clock.h"
#include "common/io/files.h"

namespace mr::ctl {
namespace {

// Written by the signal handler, where only lock-free atomics and a pipe are safe.
std::atomic<bool> interrupted{false}, signalled{false};
int wake_pipe[2] = {-1, -1};
std::optional<Instant> time_limit;

void OnSignal(int) {
  interrupted = signalled = true;
  const char byte = 0;
  [[maybe_unused]] const ssize_t n = write(wake_pipe[1], &byte, 1);
}

// The shell and the kernel both send SIGHUP when a terminal closes. The second must not end what the first began.
void OnHangup(int signal) {
  if (!signalled) OnSignal(signal);
}

Woken WaitForEvent(int fd, short event, std::optional<Instant> until) {
  while (true) {
    if (interrupted) return Woken::kInterrupted;
    int timeout_ms = -1;
    if (until.has_value()) {
      const Duration left = *until - Now();
      // Rounded up, to avoid polling with 0 just before the end.
      timeout_ms = left.ns <= 0 ? 0 : static_cast<int>(std::min<int64_t>((left.ns + 999'999) / 1'000'000, 1 << 30));
    }
    pollfd fds[2] = {{wake_pipe[0], POLLIN, 0}, {fd, event, 0}};
    const int n = poll(fds, 2, timeout_ms);
    if (n < 0 && errno == EINTR) continue;
    if (interrupted) return Woken::kInterrupted;
    if (fds[1].revents != 0) return Woken::kReady;
    if (n == 0) return Woken::kTimeout;
  }
}

}  // namespace

void CatchInterrupts() {
  MR_CHECK(pipe2(wake_pipe, O_CLOEXEC | O_NONBLOCK) == 0);
  struct sigaction action {};
  action.sa_handler = OnSignal;
  // After one signal the default action is restored, so that a second Ctrl-C ends a stuck mrctl.
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  action.sa_handler = OnHangup;
  action.sa_flags = SA_RESTART;
  struct sigaction former {};
  const bool ignored = sigaction(SIGHUP, nullptr, &former) == 0 && former.sa_handler == SIG_IGN;  // by nohup
  if (!ignored) sigaction(SIGHUP, &action, nullptr);
}

bool Interrupted() { return interrupted; }

Woken WaitFor(int fd, std::optional<Instant> until) { return WaitForEvent(fd, POLLIN, until); }
Woken WaitForRoom(int fd, std::optional<Instant> until) { return WaitForEvent(fd, POLLOUT, until); }

void WaitOnceMore(Duration limit) {
  char bytes[16];
  while (read(wake_pipe[0], bytes, sizeof bytes) > 0) {
  }
  interrupted = false;
  time_limit = Now() + limit;
}

void SetTimeLimit(std::optional<Instant> limit) { time_limit = limit; }
std::optional<Instant> TimeLimit() { return time_limit; }

std::optional<Instant> Earlier(std::optional<Instant> a, std::optional<Instant> b) {
  if (!a.has_value()) return b;
  if (!b.has_value()) return a;
  return std::min(*a, *b);
}

Status InterruptedStatus() { return {Code::kCancelled, "interrupted"}; }
Status TimeoutStatus() { return {Code::kDeadline, "--timeout expired"}; }

Status WaitOrGiveUp(int fd) {
  switch (WaitFor(fd, TimeLimit())) {
    case Woken::kReady: break;
    case Woken::kTimeout: return TimeoutStatus();
    case Woken::kInterrupted: return InterruptedStatus();
  }
  return Status::Ok();
}

Status CheckGoingOn() {
  if (interrupted) return InterruptedStatus();
  return time_limit.has_value() && Now() >= *time_limit ? TimeoutStatus() : Status::Ok();
}

Result<int> WaitForChild(pid_t pid) {
  const UniqueFd ended(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  const Status waited = WaitOrGiveUp(ended.get());
  if (!waited.ok()) kill(pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!waited.ok()) return waited;
  return status;
}

}  // namespace mr::ctl
