#include "jobs/mrctl/stdout_reader.h"

#include <cerrno>

#include "common/io/files.h"
#include "jobs/mrctl/pipe_writer.h"

namespace mr::ctl {
namespace {

Status StdoutFailure(const Status& written) {
  if (errno == EBADF) return InvalidArgument("cannot write the result: standard output is closed");
  return written.With("cannot write the result");
}

}  // namespace

Status WriteStdout(std::string_view bytes, bool* reader_left) {
  errno = 0;
  Status written = WriteAll(1, bytes);
  *reader_left = !written.ok() && errno == EPIPE;
  return written.ok() ? written : StdoutFailure(written);
}

Status PrintPiece(std::string_view piece, bool* reader_left) {
  const Status written = WriteToReader(1, piece, OnInterrupt::kStop);
  *reader_left = !written.ok() && errno == EPIPE;
  return written.ok() || written.code() == Code::kCancelled ? written : StdoutFailure(written);
}

}  // namespace mr::ctl
