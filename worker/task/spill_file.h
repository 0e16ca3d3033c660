// An unnamed file for bytes that do not fit in memory. It is appended to, then read through a mapping, so that a merge
// of any number of runs needs no buffers (the page cache is the buffer).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/io/files.h"

namespace mr::task {

class SpillFile {
 public:
  explicit SpillFile(std::string directory) : directory_(std::move(directory)) {}
  ~SpillFile();
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  // Appends at the next multiple of 8, and returns that offset. The first call creates the file.
  Result<uint64_t> Append(std::string_view bytes);
  // Returns the bytes at [offset, offset + size). Maps what has been appended since. Earlier views stay valid.
  Result<const char*> At(uint64_t offset, uint64_t size);
  uint64_t size() const { return size_; }

 private:
  struct Mapping {
    char* base;
    uint64_t size;
  };
  std::string directory_;
  UniqueFd fd_;
  uint64_t size_ = 0;
  std::vector<Mapping> mappings_;
};

}  // namespace mr::task
