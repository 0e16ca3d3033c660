// The report of an accepted output (FinishedExtra) in one block of memory. The master keeps one for each committed task
// of open jobs and of the newest ended ones, and a snapshot that is being made keeps it a second time. With ten
// partitions and two counters a block has 346 bytes; the vectors and strings of a FinishedExtra have 944.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "master/core/records.h"

namespace mr::master {

// A handle. Copies share the block, which never changes. Thread: any, if each has its own handle.
class StoredOutput {
 public:
  StoredOutput() = default;  // no output
  explicit StoredOutput(const FinishedExtra& extra);

  explicit operator bool() const { return block_ != nullptr; }
  // Returns whether both handles share a block, or have none.
  bool Shares(const StoredOutput& other) const { return block_ == other.block_; }

  // The rest requires an output.
  uint32_t partitions() const { return HeadOf().partitions; }
  // Number of rows of the partition table; 0: its readers fetch it from a replica.
  size_t rows() const { return HeadOf().rows; }
  // Returns a row, or its bytes alone. Requires: row < rows(). Cost: no allocation.
  PartitionRow Row(size_t row) const;
  uint64_t BytesOf(size_t row) const;
  std::vector<PartitionRow> Rows() const;
  // Cost: they decode what follows the rows, and no row.
  std::vector<CounterValue> Counters() const;
  std::vector<FileOutput> Files() const;
  FinishedExtra Unpack() const;

 private:
  // The block: the head, the rows, and the counters, files and texts as FieldWriter writes them. A row is the digest of
  // its content, then its bytes, records and chunks, each in as few bytes as the largest one of the output needs.
  struct Head {
    uint32_t partitions = 0, rows = 0, rest_bytes = 0;
    uint8_t bytes_width = 0, records_width = 0, chunks_width = 0;
    size_t row() const { return sizeof(Digest128) + bytes_width + records_width + chunks_width; }
  };
  Head HeadOf() const;
  const char* RowAt(const Head& head, size_t row) const { return block_.get() + sizeof(Head) + row * head.row(); }
  std::string_view RestOf(const Head& head) const { return {RowAt(head, head.rows), head.rest_bytes}; }

  std::shared_ptr<const char[]> block_;
};

}  // namespace mr::master
