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
#include "worker/task/record_store.h"
#include "worker/task/sort_items.h"
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
  using Item = SortItem;
  struct SpilledRun {
    std::vector<Run> partitions;
  };

  // Sort orders items by key, and equal keys by place, as they stand already. SortFew is for ranges with few distinct
  // keys. It returns false, with nothing done, if there are many.
  void Sort(std::span<Item> items);
  bool SortFew(std::span<Item> items);
  bool Less(const Item& a, const Item& b) const {
    if (a.prefix != b.prefix) return a.prefix < b.prefix;
    const int c = order_.Compare(Key(a), Key(b));
    return c != 0 ? c < 0 : a.place < b.place;
  }
  // Passes on what is in memory, in order, and clears it.
  Status Drain(const ChunkWriter::Options& options, const ChunkOut& out);
  // Passes on sorted items of one partition: each record is copied once, to where its chunk is needed. Cuts chunks like
  // ChunkWriter.
  Status WriteSorted(uint32_t partition, std::span<const Item> items, const ChunkOut& out);
  // The same, folded by the operator's combine().
  Status WriteFolded(uint32_t partition, std::span<const Item> items, ChunkWriter* writer);
  std::string_view Key(const Item& item) const { return records_.At(item.place).key; }
  // In key order records are anywhere in memory. So they are prefetched some records ahead.
  void Prefetch(std::span<const Item> items, size_t at) const;
  Status Spill();
  ChunkWriter::Options WriterOptions(bool final_pass) const;

  Options options_;
  Operator* oper_;
  KeyOrder order_;
  RecordStore records_;
  std::vector<Item> items_;             // in the order of emission
  std::vector<uint32_t> partition_of_;  // parallel to items_
  std::vector<Item> ordered_;           // by partition
  std::vector<uint32_t> places_;
  std::vector<char> chunk_;    // where a chunk has no other room
  uint64_t record_bytes_ = 0;  // of keys and values in memory
  uint64_t ask_bytes_ = 0;     // how much of a record is prefetched
  // Lengths of the records in memory, if all have the same: then a chunk is cut without a look at its records.
  bool fixed_ = true;
  uint64_t fixed_key_ = 0, fixed_value_ = 0;
  uint64_t used_ = 0;
  std::vector<SpilledRun> runs_;
  SpillFile spill_;
};

}  // namespace mr::task
