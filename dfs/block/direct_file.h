// Appends to a file past the page cache (O_DIRECT), where the file system can do that. A block is written once and must
// reach the disk before it counts, so its pages in the cache would only be allocated, filled and written out (measured:
// 0.1 s of CPU per GB instead of 0.8 to 3.7 s). Files below kStep, and the last bytes of a file, go through the cache.
//
// Thread: one at a time. Blocks until the disk has taken what is written.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "common/base/status.h"
#include "common/io/write_behind.h"

namespace mr::dfs {

class DirectFile {
 public:
  // fd: of an empty file, borrowed. direct: false: always through the cache.
  DirectFile(int fd, bool direct) : fd_(fd), may_(direct) {}
  ~DirectFile();
  DirectFile(const DirectFile&) = delete;
  DirectFile& operator=(const DirectFile&) = delete;

  Status Append(std::string_view bytes);
  // Writes what is left. Nothing is durable before the caller's fsync.
  Status Finish();

 private:
  // Bytes of one write (guess: from 1 MiB up a write costs little besides its bytes).
  static constexpr uint64_t kStep = 4u << 20;
  static constexpr uint64_t kAlign = 4096;  // of memory, offsets and lengths: enough for all disks in use

  Status WriteStep();
  bool Set(bool direct);

  const int fd_;
  bool may_;              // try to write past the cache
  bool direct_ = false;   // the descriptor's state
  char* step_ = nullptr;  // aligned, kStep bytes
  uint64_t filled_ = 0;
  uint64_t written_ = 0;
  WriteBehind behind_;
};

}  // namespace mr::dfs
