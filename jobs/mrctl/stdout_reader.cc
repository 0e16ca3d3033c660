#include "jobs/mrctl/stdout_reader.h"

#include <cerrno>

#include "jobs/mrctl/pipe_writer.h"

namespace mr::ctl {
namespace {

Status StdoutFailure(const Status& written) {
  if (errno == EBADF) return InvalidArgument("cannot write the result: standard output is closed");
  return written.With("cannot write the result");
}

}  // namespace

Status PrintPiece(std::string_view piece, bool* reader_left) {
  const Status written = WriteToReader(1, piece, OnInterrupt::kStop);
  *reader_left = !written.ok() && errno == EPIPE;
  const bool given_up = written.code() == Code::kCancelled || written.code() == Code::kDeadline;
  return written.ok() || given_up ? written : StdoutFailure(written);
}

}  // namespace mr::ctl
