// Reads a child's stdout and stderr from its pipe. Writes them to the attempt's log file, which is created at the first
// byte and cut at 64 MiB. Keeps its end for messages and for reports of failures.
#pragma once

#include <cstdint>
#include <string>

#include "common/io/files.h"

namespace mr::worker {

class LogSink {
 public:
  static constexpr uint64_t kMaxLogBytes = 64u << 20;
  static constexpr size_t kTailBytes = 2048;

  // Starts the log of a new task; "" discards its output.
  void Open(std::string path);
  // Reads all that is in the pipe, without waiting. Returns false at its end.
  bool Drain(int pipe);
  // Ends the last line, if it has no end yet.
  void EndLine();
  // Adds a line of the host itself, on a line of its own.
  void Note(std::string_view line);
  // Returns the last lines, whole ones if there is room. After a crash: some lines before
  // its report, and the first ones of that.
  std::string Tail() const;
  // Returns the last kKeptLogBytes, as they were written.
  std::string End() const;
  // Returns how many bytes were written, with those beyond the limit of the file.
  uint64_t bytes() const { return bytes_; }

 private:
  void Write(std::string_view bytes);

  std::string path_;
  UniqueFd file_;
  uint64_t written_ = 0, bytes_ = 0;  // written_: to the file
  bool full_ = false;
  std::string end_;  // up to twice what is returned, so that it is seldom moved
};

}  // namespace mr::worker
