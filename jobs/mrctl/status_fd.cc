#include "jobs/mrctl/status_fd.h"

#include <fcntl.h>
#include <unistd.h>

#include <string>

#include "jobs/mrctl/exit_code.h"

namespace mr::ctl {

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

}  // namespace mr::ctl
