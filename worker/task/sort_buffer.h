// Collects what an operator emits to one shuffle port: partitions it, and gives it out partition by
// partition, sorted by key (equal keys in the order of emission) and combined where asked. What does not fit is spilled
// as runs and merged at the end. All borders are functions of what was emitted and of the options: never of time or
// free memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/abi/batch.h"
#include "common/base/status.h"
#include "worker/task/chunk_writer.h"
#include "worker/task/merge.h"
#include "worker/task/operator_calls.h"
#include "worker/task/partition.h"
#include "worker/task/spill_file.h"

namespace mr::task {

class SortBuffer {
 public:
  struct Options {
    Partitioning how;
    bool combine = false;
    uint64_t budget = 64u << 20;  // bytes of records and of their index
    std::string scratch_directory;
  };
  SortBuffer(Options options, Operator* oper);

  // One batch as emitted; copied.
  Status Add(std::string_view batch);
  // Everything, partitions 0, 1, ... in order. Called once, at the end.
  Status Finish(const ChunkOut& out);

  uint32_t runs() const { return static_cast<uint32_t>(runs_.size()); }

 private:
  struct Entry {
    uint64_t prefix;
    const char* key;
    const char* value;
    uint32_t key_size, value_size;
    std::string_view Key() const { return {key, key_size}; }
    std::string_view Value() const { return {value, value_size}; }
  };
  struct Item {
    uint64_t prefix;
    uint32_t entry;
  };
  struct SpilledRun {
    std::vector<Run> partitions;
  };

  // Orders items by key, equal keys by entry, as they stand already. SortFew is for ranges with few
  // distinct keys: false, and nothing done, where these are not.
  void Sort(std::span<Item> items);
  bool SortFew(std::span<Item> items);
  bool Less(const Item& a, const Item& b) const {
    if (a.prefix != b.prefix) return a.prefix < b.prefix;
    const int c = order_.Compare(entries_[a.entry].Key(), entries_[b.entry].Key());
    return c != 0 ? c < 0 : a.entry < b.entry;
  }
  // Gives out what is in memory, in order, and forgets it.
  Status Drain(ChunkWriter* writer);
  Status Spill();
  ChunkWriter::Options WriterOptions(bool final_pass) const;

  Options options_;
  Operator* oper_;
  KeyOrder order_;
  std::vector<std::unique_ptr<std::string>> batches_;
  std::vector<Entry> entries_;
  std::vector<uint32_t> partition_of_;  // beside entries_
  std::vector<uint32_t> places_;
  uint64_t used_ = 0;
  std::vector<SpilledRun> runs_;
  SpillFile spill_;
};

}  // namespace mr::task
