#include "jobs/mrctl/status_lines.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>

#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/pipe_writer.h"
#include "jobs/mrctl/render.h"

namespace mr::ctl {
namespace {

Status StatusReaderLeft() { return {Code::kCancelled, "the reader of --status-fd has closed it"}; }

}  // namespace

Status PrepareStatusFd(int fd) {
  const std::string name = "--status-fd " + std::to_string(fd);
  const int flags = fcntl(fd, F_GETFL);
  if (flags < 0) {
    return WithHint(
        InvalidArgument(name + ": no such descriptor is open; nothing was run"),
        "open it in the program that starts mrctl, such as with " + std::to_string(fd) + ">FILE in a shell");
  }
  if ((flags & O_ACCMODE) == O_RDONLY) {
    return InvalidArgument(name + ": the descriptor is open for reading only; nothing was run");
  }
  // A local cluster would hold it open. Its daemons need the standard descriptors.
  if (fd > STDERR_FILENO) fcntl(fd, F_SETFD, FD_CLOEXEC);
  return Status::Ok();
}

StatusLines::StatusLines(int fd) : fd_(fd) {
  if (fd_ >= 0) std::signal(SIGPIPE, SIG_IGN);
}

Status StatusLines::Check() const {
  if (fd_ < 0) return Status::Ok();
  pollfd at{fd_, 0, 0};
  poll(&at, 1, 0);
  return (at.revents & (POLLERR | POLLNVAL)) != 0 ? StatusReaderLeft() : Status::Ok();
}

Status StatusLines::Show(const JobStatus& job) {
  if (fd_ < 0) return Status::Ok();
  pollfd at{fd_, POLLOUT, 0};
  poll(&at, 1, 0);
  if ((at.revents & POLLOUT) == 0 && !Ended(job.state)) return Check();
  const std::string line = JsonJob(job, OutputForm::kNdjson, nullptr);
  const Status written = WriteToReader(fd_, line, OnInterrupt::kWriteWhileRoom);
  if (!written.ok() && errno == EPIPE) return StatusReaderLeft();
  return written.code() == Code::kCancelled ? written : written.With("--status-fd");
}

}  // namespace mr::ctl
