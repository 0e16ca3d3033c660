#include "jobs/mrctl/stdout_reader.h"

#include <cerrno>

#include "common/io/files.h"
#include "jobs/mrctl/pipe_writer.h"

namespace mr::ctl {

Status WriteStdout(std::string_view bytes, bool* reader_left) {
  errno = 0;
  Status written = WriteAll(1, bytes);
  *reader_left = !written.ok() && errno == EPIPE;
  return written;
}

Status PrintPiece(std::string_view piece, bool* reader_left) {
  const Status written = WriteToReader(1, piece, OnInterrupt::kStop);
  *reader_left = !written.ok() && errno == EPIPE;
  return written.code() == Code::kCancelled ? written : written.With("cannot write the result");
}

}  // namespace mr::ctl
