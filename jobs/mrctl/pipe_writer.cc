#include "jobs/mrctl/pipe_writer.h"

#include <poll.h>
#include <sys/stat.h>

#include <cerrno>

#include "common/io/files.h"
#include "jobs/mrctl/wait.h"

namespace mr::ctl {
namespace {

bool HasRoom(int fd) {
  pollfd at{fd, POLLOUT, 0};
  return poll(&at, 1, 0) > 0;
}

}  // namespace

Status WriteToReader(int fd, std::string_view bytes, OnInterrupt on_interrupt) {
  constexpr size_t kPipeBytes = 4096;  // PIPE_BUF: a pipe with room takes them at once
  struct stat at {};
  const bool file = fstat(fd, &at) == 0 && S_ISREG(at.st_mode);
  errno = 0;
  while (!bytes.empty()) {
    const bool stops = on_interrupt == OnInterrupt::kStop;
    const Woken woken = !stops && HasRoom(fd) ? Woken::kReady : WaitForRoom(fd, stops ? TimeLimit() : std::nullopt);
    if (woken != Woken::kReady) {
      errno = 0;
      return woken == Woken::kTimeout ? TimeoutStatus() : InterruptedStatus();
    }
    const std::string_view next = bytes.substr(0, file ? bytes.size() : kPipeBytes);
    errno = 0;
    MR_RETURN_IF_ERROR(WriteAll(fd, next));
    bytes.remove_prefix(next.size());
  }
  return Status::Ok();
}

}  // namespace mr::ctl
