// Starts write-out of the bytes appended to a file, some MiB at a time, so that the final sync has little left to wait
// for. Makes nothing durable: only the sync does. Blocks where the disk's queue is full, like write().
#pragma once

#include <fcntl.h>

#include <cstdint>

namespace mr {

class WriteBehind {
 public:
  // Call after each append of `bytes` bytes. Requires: the file was empty before the first call.
  void Wrote(int fd, uint64_t bytes) {
    end_ += bytes;
    if (end_ - begun_ < kStep) return;
    // Errors are ignored: the final sync writes what is left, and reports writes that failed here.
    (void)::sync_file_range(fd, static_cast<off_t>(begun_), static_cast<off_t>(end_ - begun_), SYNC_FILE_RANGE_WRITE);
    begun_ = end_;
  }

 private:
  static constexpr uint64_t kStep = 8u << 20;  // guess
  uint64_t end_ = 0, begun_ = 0;
};

}  // namespace mr
