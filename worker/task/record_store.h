// Records in memory, each with its key and value side by side: a reader of records in any order waits for two cache
// lines of a short record, not for one per part. Places ascend in the order of Add.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "common/abi/growing_bytes.h"
#include "common/base/prefetch.h"
#include "worker/task/batch_writer.h"

namespace mr::task {

class RecordStore {
 public:
  // block_bytes: what it allocates at a time, at most kBlockBytes.
  explicit RecordStore(uint64_t block_bytes = kBlockBytes) : block_bytes_(std::min(block_bytes, kBlockBytes)) {}
  ~RecordStore();
  RecordStore(const RecordStore&) = delete;
  RecordStore& operator=(const RecordStore&) = delete;

  // Sets how many bytes of blocks of stores that ended this process keeps for the next one, so that the kernel need not
  // clear them again. Frees what is above. 0 at the start.
  static void KeepBlocks(uint64_t most_bytes);
  // Frees the kept blocks: the task at hand sorts nothing, or needs the memory for something else. Returns whether
  // there were any.
  static bool FreeKept();

  struct Free {
    void operator()(char* bytes) const { std::free(bytes); }
  };
  struct Block {
    std::unique_ptr<char, Free> bytes;
    uint64_t size;
  };
  // Guess: few blocks, of little waste. With the 16 bytes of glibc's header, a block takes two huge pages, so that
  // aligned blocks follow each other; else a third of the heap is holes that no huge page backs (measured).
  static constexpr uint64_t kBlockBytes = (4u << 20) - 16;
  static constexpr uint64_t kHeaderBytes = 8;  // two lengths, in front of each record

  // Copies the record and returns its place.
  uint64_t Add(std::string_view key, std::string_view value) {
    const uint64_t bytes = kHeaderBytes + key.size() + value.size();
    if (left_ < bytes) NewBlock(bytes);
    char* const to = at_;
    const uint32_t sizes[2] = {static_cast<uint32_t>(key.size()), static_cast<uint32_t>(value.size())};
    std::memcpy(to, sizes, kHeaderBytes);
    CopyShort(to + kHeaderBytes, key.data(), key.size());
    CopyShort(to + kHeaderBytes + key.size(), value.data(), value.size());
    const uint64_t place = uint64_t{blocks_.size() - 1} << 32 | static_cast<uint64_t>(to - blocks_.back().bytes.get());
    at_ += bytes;
    left_ -= bytes;
    return place;
  }
  RecordRef At(uint64_t place) const {
    const char* const from = blocks_[place >> 32].bytes.get() + static_cast<uint32_t>(place);
    uint32_t sizes[2];
    std::memcpy(sizes, from, kHeaderBytes);
    return {{from + kHeaderBytes, sizes[0]}, {from + kHeaderBytes + sizes[0], sizes[1]}};
  }
  // Prefetches the first `bytes` of a record and its header.
  [[gnu::always_inline]] void Ask(uint64_t place, uint64_t bytes) const {
    AskMemory(blocks_[place >> 32].bytes.get() + static_cast<uint32_t>(place), kHeaderBytes + bytes);
  }
  // Removes all records. Keeps the memory of usual blocks.
  void Clear();

 private:
  static constexpr uint64_t kHugePage = 2u << 20;
  Block MakeBlock(uint64_t bytes);

  // A record that is larger than a block gets one of its own size, which Clear frees.
  void NewBlock(uint64_t bytes) {
    blocks_.push_back(MakeBlock(bytes));
    at_ = blocks_.back().bytes.get();
    left_ = blocks_.back().size;
  }

  const uint64_t block_bytes_;
  std::vector<Block> blocks_;  // in use; at_ is in the last one
  std::vector<Block> free_;    // of block_bytes_ each
  char* at_ = nullptr;
  uint64_t left_ = 0;
};

}  // namespace mr::task
