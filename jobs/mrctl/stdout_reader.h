// Writes long texts to standard output, whose reader may have read enough.
#pragma once

#include <cerrno>
#include <string_view>

#include "common/base/status.h"
#include "common/io/files.h"

namespace mr::ctl {

// Writes the bytes. reader_left: set to whether the reader closed its end, such as head; that is no failure. Errors: of
// the file system, such as a full disk.
inline Status WriteStdout(std::string_view bytes, bool* reader_left) {
  errno = 0;
  Status written = WriteAll(1, bytes);
  *reader_left = !written.ok() && errno == EPIPE;
  return written;
}

}  // namespace mr::ctl
