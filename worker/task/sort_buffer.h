// Collects the output for one shuffle port: partitions it, and passes it on partition by partition, sorted by key
// (equal keys in the order of emission) and combined if the options ask for that. Spills runs if memory is full, and
// merges them at the end. All borders depend on the records and the options, never on time or free memory.
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

  // Adds one batch as emitted. Copies it.
  Status Add(std::string_view batch);
  // Passes on everything, partitions 0, 1, ... in order. Called once, at the end.
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

  // Sort orders items by key, and equal keys by entry, as they stand already. SortFew is for ranges with few distinct
  // keys. It returns false, with nothing done, if there are many.
  void Sort(std::span<Item> items);
  bool SortFew(std::span<Item> items);
  bool Less(const Item& a, const Item& b) const {
    if (a.prefix != b.prefix) return a.prefix < b.prefix;
    const int c = order_.Compare(entries_[a.entry].Key(), entries_[b.entry].Key());
    return c != 0 ? c < 0 : a.entry < b.entry;
  }
  // Passes on what is in memory, in order, and clears it.
  Status Drain(ChunkWriter* writer);
  Status Spill();
  ChunkWriter::Options WriterOptions(bool final_pass) const;

  Options options_;
  Operator* oper_;
  KeyOrder order_;
  std::vector<std::unique_ptr<std::string>> batches_;
  std::vector<Entry> entries_;
  std::vector<uint32_t> partition_of_;  // parallel to entries_
  std::vector<uint32_t> places_;
  uint64_t used_ = 0;
  std::vector<SpilledRun> runs_;
  SpillFile spill_;
};

}  // namespace mr::task
