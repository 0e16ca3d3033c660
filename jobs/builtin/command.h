// A shell command as a filter: bytes in, lines out, for streaming operators. Reading and writing go
// on together, so a command may answer before, while or after it reads. Single-threaded.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>

namespace mr::builtin {

class Command {
 public:
  using OnLine = std::function<void(std::string_view line)>;  // without the newline

  // Starts /bin/sh -c `text`. What the callbacks throw comes out of Write() and Finish(). on_moved: bytes went through
  // a pipe, either way.
  Command(
      std::string text, OnLine on_output, OnLine on_error_line, std::function<void()> on_moved = [] {});
  // Kills the command if it still runs.
  ~Command();
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  // Returns when the command has taken the bytes (or no longer reads: then they are dropped).
  void Write(std::string_view bytes);
  // End of input; returns when the command has ended with 0, whatever processes that it has started go on and hold its
  // pipes: what they write after its end is not read. Else throws JobError that names the
  // command as `what`, its exit code or signal, and the end of its stderr: a RetryableError for code 75, which
  // sysexits.h has for failures that pass (EX_TEMPFAIL).
  void Finish(const std::string& what);

 private:
  struct Stream {
    int fd = -1;
    std::string partial;  // a line without its end yet
  };
  void Pump(std::string_view* to_write);
  // False at the end of the stream. At most `most` bytes.
  bool ReadSome(Stream* stream, const OnLine& on_line, size_t most = SIZE_MAX);
  void Close(Stream* stream, const OnLine& on_line);
  // The command has ended, by its own or while descendants of it go on: takes what stands in the pipes, and closes
  // them.
  bool HasEnded() const;
  void ReadRest(Stream* stream, const OnLine& on_line);
  void CloseInput();

  const std::string text_;
  OnLine on_output_, on_error_;
  std::function<void()> on_moved_;
  pid_t pid_ = -1;
  int pidfd_ = -1;  // -1 also where the kernel has none
  int input_ = -1;
  Stream output_, error_;
  std::string error_tail_;
};

}  // namespace mr::builtin
