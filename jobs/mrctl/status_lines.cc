#include "jobs/mrctl/status_lines.h"

#include <poll.h>

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
