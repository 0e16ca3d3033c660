// A shell command as a filter for streaming operators: bytes in, lines out. Reading and writing alternate, so a command
// may answer before, while or after it reads. Thread: one.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace mr::builtin {

class Command {
 public:
  using OnLine = std::function<void(std::string_view line)>;  // without the newline

  // Starts bash -O xpg_echo -o pipefail -c `text`, or sh -c `text` on a machine without bash. Exceptions of the
  // callbacks come out of Write() and Finish(). on_moved: called when bytes went through a pipe in either direction.
  Command(
      std::string text, OnLine on_output, OnLine on_error_line, std::function<void()> on_moved = [] {});
  // Kills the command if it still runs.
  ~Command();
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  // Returns when the command has taken the bytes. Drops them if it no longer reads.
  void Write(std::string_view bytes);
  // Ends the input, and returns when the command has exited with 0 or one of `ok_exits`. Processes that it started may
  // go on and hold its pipes; their later output is not read. A program whose reader in a pipe closed it early has not
  // failed. Errors: JobError with `what`, exit code or signal, and the end of its stderr. With bash, also where a
  // program inside of a pipe failed. RetryableError for exit code 75 (EX_TEMPFAIL in sysexits.h: a temporary failure).
  void Finish(const std::string& what, const std::vector<int64_t>& ok_exits = {});

  // A range of the bytes that were written to the command.
  struct Range {
    uint64_t from = 0, to = 0;
  };
  // Returns the bytes that the command last read: up to what it has read, and at most a pipe's 64 KiB before. A command
  // that reads line by line works on a record that begins there. A program inside of a pipe may be further behind.
  // lag: bytes that it may have read since the event in question; the range begins earlier by these.
  Range LastRead(uint64_t lag = 0) const;
  // Bytes that a command may have read since it wrote a line to stderr that has just been read: twice a pipe.
  static constexpr uint64_t kLineLag = 128u << 10;

 private:
  struct Stream {
    int fd = -1;
    std::string partial;  // a line whose end has not been read
  };
  void Pump(std::string_view* to_write);
  // Reads at most `most` bytes. Returns false at the end of the stream.
  bool ReadSome(Stream* stream, const OnLine& on_line, size_t most = SIZE_MAX);
  void Close(Stream* stream, const OnLine& on_line);
  // HasEnded: the command itself has ended, though descendants may go on. ReadRest: takes the bytes that are in a pipe
  // and closes it.
  bool HasEnded() const;
  void ReadRest(Stream* stream, const OnLine& on_line);
  void CloseInput();
  uint64_t Unread() const;  // bytes in the pipe of its input

  const std::string text_;
  OnLine on_output_, on_error_;
  std::function<void()> on_moved_;
  pid_t pid_ = -1;
  int pidfd_ = -1;  // -1 also if the kernel has no pidfd
  int input_ = -1;
  uint64_t written_ = 0, unread_ = 0;  // bytes of its input; unread_: of these, when the input was closed
  bool read_on_ = false;               // it may have read the rest after that
  Stream output_, error_;
  std::string error_tail_;
};

}  // namespace mr::builtin
