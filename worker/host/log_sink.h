// Takes what a child writes to stdout and stderr out of its pipe: to the attempt's log file, which
// is made at the first byte and cut at 64 MiB, and to a short tail for messages.
#pragma once

#include <cstdint>
#include <string>

#include "common/io/files.h"

namespace mr::worker {

class LogSink {
 public:
  static constexpr uint64_t kMaxLogBytes = 64u << 20;
  static constexpr size_t kTailBytes = 2048;

  // A new task writes from here on; "" throws its words away.
  void Open(std::string path);
  // Reads all that is in the pipe without waiting. False at its end.
  bool Drain(int pipe);
  // The last lines, whole ones where there is room.
  std::string Tail() const;

 private:
  void Write(std::string_view bytes);

  std::string path_;
  UniqueFd file_;
  uint64_t written_ = 0;
  bool full_ = false;
  std::string tail_;
};

}  // namespace mr::worker
