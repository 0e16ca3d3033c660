#include "jobs/mrctl/status_lines.h"

#include <poll.h>

#include <cerrno>
#include <csignal>
#include <string>

#include "common/io/files.h"
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
  errno = 0;
  const Status written = WriteAll(fd_, JsonJob(job, OutputForm::kNdjson, nullptr));
  return !written.ok() && errno == EPIPE ? StatusReaderLeft() : written.With("--status-fd");
}

}  // namespace mr::ctl
