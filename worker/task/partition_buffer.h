// Collects the output for a shuffle port that needs no order. Each record goes at once to the chunk of its partition.
// At the end, chunks are passed on partition by partition, in the order of emission. Chunks that do not fit in memory
// go to a spill file, including open ones. The borders of chunks depend on the records, the budget and the number of
// partitions, never on time or free memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/abi/batch.h"
#include "common/base/status.h"
#include "worker/task/chunk_writer.h"
#include "worker/task/operator_calls.h"
#include "worker/task/partition.h"
#include "worker/task/spill_file.h"

namespace mr::task {

class PartitionBuffer {
 public:
  struct Options {
    Partitioning how;
    uint64_t budget = 64u << 20;  // bytes of chunks in memory
    std::string scratch_directory;
  };
  PartitionBuffer(Options options, Operator* oper);

  // Adds one batch as emitted. Copies it.
  Status Add(std::string_view batch);
  // Passes on everything, partitions 0, 1, ... in order. Called once, at the end.
  Status Finish(const ChunkOut& out);

  bool spilled() const { return spill_.size() > 0; }
  // Returns at most the budget, between calls of Add. Allocators and lists of chunks take memory on top.
  uint64_t bytes_in_memory() const { return used_ + open_; }

 private:
  struct Piece {
    uint32_t records = 0;
    std::string bytes;  // or, where it is empty, in the spill file:
    uint64_t offset = 0, size = 0;
  };
  struct Partition {
    BatchBuilder open;
    std::vector<Piece> pieces;
  };

  void Close(Partition* partition);
  Status Spill();

  Options options_;
  Operator* oper_;
  uint64_t target_;    // bytes of a chunk
  uint64_t used_ = 0;  // bytes of closed chunks in memory
  uint64_t open_ = 0;  // bytes of open ones
  std::vector<Partition> partitions_;
  std::vector<uint32_t> places_;
  SpillFile spill_;
};

}  // namespace mr::task
