#include "jobs/mrctl/wait.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "common/io/clock.h"

namespace mr::ctl {
namespace {

// Written by the signal handler, where only lock-free atomics and a pipe are safe.
std::atomic<bool> interrupted{false};
int wake_pipe[2] = {-1, -1};
std::optional<Instant> time_limit;

void OnSignal(int) {
  interrupted = true;
  const char byte = 0;
  [[maybe_unused]] const ssize_t n = write(wake_pipe[1], &byte, 1);
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
}

bool Interrupted() { return interrupted; }

void RestoreSignals() {
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
}

Woken WaitFor(int fd, std::optional<Instant> until) {
  while (true) {
    if (interrupted) return Woken::kInterrupted;
    int timeout_ms = -1;
    if (until.has_value()) {
      const Duration left = *until - Now();
      // Rounded up, to avoid polling with 0 just before the end.
      timeout_ms = left.ns <= 0 ? 0 : static_cast<int>(std::min<int64_t>((left.ns + 999'999) / 1'000'000, 1 << 30));
    }
    pollfd fds[2] = {{wake_pipe[0], POLLIN, 0}, {fd, POLLIN, 0}};
    const int n = poll(fds, 2, timeout_ms);
    if (n < 0 && errno == EINTR) continue;
    if (interrupted) return Woken::kInterrupted;
    if (fds[1].revents != 0) return Woken::kReady;
    if (n == 0) return Woken::kTimeout;
  }
}

Woken WaitForRoom(int fd) {
  while (true) {
    if (interrupted) return Woken::kInterrupted;
    pollfd fds[2] = {{wake_pipe[0], POLLIN, 0}, {fd, POLLOUT, 0}};
    if (poll(fds, 2, -1) < 0 && errno == EINTR) continue;
    if (interrupted) return Woken::kInterrupted;
    if (fds[1].revents != 0) return Woken::kReady;
  }
}

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

}  // namespace mr::ctl
