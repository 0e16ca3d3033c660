#include "jobs/mrctl/stdout_reader.h"

#include <sys/stat.h>

#include <cerrno>

#include "common/io/files.h"
#include "jobs/mrctl/wait.h"

namespace mr::ctl {

Status WriteStdout(std::string_view bytes, bool* reader_left) {
  errno = 0;
  Status written = WriteAll(1, bytes);
  *reader_left = !written.ok() && errno == EPIPE;
  return written;
}

Status PrintPiece(std::string_view piece, bool* reader_left) {
  constexpr size_t kPipeBytes = 4096;  // PIPE_BUF: a pipe with room takes them at once
  struct stat at {};
  const bool file = fstat(1, &at) == 0 && S_ISREG(at.st_mode);
  while (!piece.empty()) {
    if (WaitForRoom(1) == Woken::kInterrupted) return InterruptedStatus();
    const std::string_view next = piece.substr(0, file ? piece.size() : kPipeBytes);
    MR_RETURN_IF_ERROR(WriteStdout(next, reader_left).With("cannot write the result"));
    piece.remove_prefix(next.size());
  }
  return Status::Ok();
}

}  // namespace mr::ctl
