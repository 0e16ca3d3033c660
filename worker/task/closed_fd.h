// Tells a descriptor that the operator has closed from one that fails.
#pragma once

#include <errno.h>
#include <fcntl.h>

#include <string>

#include "common/base/status.h"

namespace mr::task {

// Checks a descriptor of the engine after an error. what: its file, for the message. Errors: kInvalidArgument, a
// failure of the user: it is closed, and only the operator may have done that.
inline Status CheckOpen(int fd, const std::string& what) {
  if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) return {};
  return InvalidArgument("the operator closed the descriptor of " + what +
                         ", which is not its own; close only descriptors that the operator has opened");
}

}  // namespace mr::task
