// Lets the kernel begin to write out what is appended to a file, some MiB at a time, so that the sync at its end has
// little left to wait for. Promises nothing: only the sync does. Blocks where the disk's queue is full, as write does.
#pragma once

#include <fcntl.h>

#include <cstdint>

namespace mr {

class WriteBehind {
 public:
  // Behind each append of so many bytes to the file, which was empty.
  void Wrote(int fd, uint64_t bytes) {
    end_ += bytes;
    if (end_ - begun_ < kStep) return;
    // A file system that cannot do it syncs all at the end; a write that fails behind this is told by that sync, too.
    (void)::sync_file_range(fd, static_cast<off_t>(begun_), static_cast<off_t>(end_ - begun_), SYNC_FILE_RANGE_WRITE);
    begun_ = end_;
  }

 private:
  static constexpr uint64_t kStep = 8u << 20;  // guess
  uint64_t end_ = 0, begun_ = 0;
};

}  // namespace mr
