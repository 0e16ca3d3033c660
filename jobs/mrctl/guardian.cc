#include "jobs/mrctl/guardian.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "common/io/clock.h"
#include "common/io/files.h"

namespace mr::ctl {
namespace {

// Closes the standard streams, too: open ones would keep a reader of mrctl's output waiting, or a terminal busy.
void LetGoOfEverythingBut(int pipe) {
  setpgid(0, 0);
  signal(SIGINT, SIG_IGN);
  signal(SIGTERM, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  const int null = open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; ++fd) dup2(null, fd);
  const int kept = dup2(pipe, 3);
  syscall(SYS_close_range, static_cast<unsigned>(kept) + 1, ~0u, 0);
}

}  // namespace

void RunGuardian(int pipe, const std::string& directory) {
  LetGoOfEverythingBut(pipe);
  std::vector<int> daemons;  // pidfds: a pid may be reused, a descriptor is not
  pid_t pid = 0;
  while (true) {
    const ssize_t n = read(3, &pid, sizeof pid);
    if (n < 0 && errno == EINTR) continue;
    if (n != sizeof pid) break;
    const int fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
    if (fd >= 0) daemons.push_back(fd);
  }
  const Instant limit = Now() + Seconds(kGuardianGraceSeconds);
  for (const int fd : daemons) {
    pollfd ended{fd, POLLIN, 0};
    const int64_t left = (limit - Now()).millis();
    if (poll(&ended, 1, left > 0 ? static_cast<int>(left) : 0) == 1) continue;
    syscall(SYS_pidfd_send_signal, fd, SIGKILL, nullptr, 0);
    poll(&ended, 1, 1000);
  }
  _exit(RemoveTree(directory).ok() ? 0 : 1);
}

void NotifyGuardian(int pipe, pid_t pid) {
  // A write of four bytes to an empty pipe is atomic.
  [[maybe_unused]] const ssize_t n = write(pipe, &pid, sizeof pid);
}

}  // namespace mr::ctl
