// Collects the segments that arrive on the edges of a task, one per (input, upstream task, partition), in any order, as
// chunks of one batch each. Keeps them in memory up to a budget, then in a spill file.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/abi/operator_table.h"
#include "common/base/status.h"
#include "worker/task/batch_writer.h"
#include "worker/task/merge.h"
#include "worker/task/protocol.h"
#include "worker/task/spill_file.h"

namespace mr::task {

struct SegmentKey {
  uint32_t input = 0, upstream = 0, partition = 0;
  auto operator<=>(const SegmentKey&) const = default;
};

struct Segment {
  Run run;
  std::vector<std::unique_ptr<std::string>> memory;  // parallel to run.chunks; null if spilled
  bool complete = false;
};

class Inputs {
 public:
  Inputs(const std::vector<WireEdge>& edges, std::string scratch_directory, uint64_t budget);

  // Adds one chunk. An empty one has no bytes: only `last` counts.
  Status Add(const SegmentKey& key, std::string chunk, bool last);

  const WireEdge* edge(uint32_t input) const;
  // Return whether all segments of the input have begun, and whether all are complete.
  bool Known(uint32_t input) const { return begun_.at(input) == edge(input)->segments; }
  bool Complete(uint32_t input) const { return complete_.at(input) == edge(input)->segments; }
  std::vector<std::pair<SegmentKey, Segment*>> Of(uint32_t input);
  // Returns the bytes of a chunk, valid until Drop.
  Result<const char*> Bytes(const Chunk& chunk);
  // Frees a chunk that has been delivered.
  void Drop(Segment* segment, size_t chunk);
  SpillFile* spill() { return &spill_; }
  // Bytes of keys and values received in all, as operators count what they take (mr_host::taken).
  uint64_t record_bytes() const { return record_bytes_; }

 private:
  std::vector<WireEdge> edges_;
  uint64_t budget_, in_memory_ = 0, record_bytes_ = 0;
  SpillFile spill_;
  std::map<SegmentKey, Segment> segments_;
  std::map<uint32_t, uint64_t> begun_, complete_;
};

// The grouped inputs of a task as one stream of batches in key order.
class GroupedStream {
 public:
  // Requires: all inputs are complete; `inputs` outlives the stream.
  GroupedStream(Inputs* inputs, const std::vector<uint32_t>& grouped, KeyOrder order);
  Status Start() { return merger_.Start(); }
  // Returns false at the end. The previous batch is no longer valid.
  Result<bool> Next(mr_batch* out);

 private:
  static std::vector<const Run*> Runs(Inputs* inputs, const std::vector<uint32_t>& grouped);

  KeyOrder order_;
  bool tagged_;
  uint32_t input_;
  Merger merger_;
  struct Record {
    RecordRef ref;
    uint8_t tag;
  };
  std::vector<Record> records_;  // of the current batch
  GrowingBytes bytes_;
  std::string last_key_;
  bool any_ = false;
};

}  // namespace mr::task
