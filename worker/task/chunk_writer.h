// Cuts the records of one partition into chunks of one batch each. The borders depend on the records alone. With
// `combine` it first folds equal keys by the operator's combine().
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "common/abi/batch.h"
#include "common/base/status.h"
#include "worker/task/merge.h"
#include "worker/task/operator_calls.h"

namespace mr::task {

// Takes finished chunks.
struct ChunkOut {
  using Take = std::function<Status(uint32_t partition, uint32_t records, std::string_view batch)>;
  // Returns memory for a chunk of so many bytes that is passed on next, or null: such a chunk is not copied again.
  using Room = std::function<char*(uint64_t bytes)>;

  template <class F>
  ChunkOut(F take, Room room = nullptr) : take(std::move(take)), room(std::move(room)) {}  // NOLINT: like a function
  Status operator()(uint32_t partition, uint32_t records, std::string_view batch) const {
    return take(partition, records, batch);
  }

  Take take;
  Room room;
};

// A larger record has a chunk of its own.
inline constexpr uint64_t kOwnChunkBytes = 1u << 20;

class ChunkWriter {
 public:
  struct Options {
    bool sorted = false;
    bool combine = false;
    bool any_subset = false;  // combine() may see a part of a group
    uint32_t port = 0;
    KeyOrder order;
  };
  ChunkWriter(Options options, Operator* oper, ChunkOut out) : options_(options), oper_(oper), out_(std::move(out)) {}

  void Begin(uint32_t partition) { partition_ = partition; }
  Status Add(std::string_view key, std::string_view value);
  // Ends the partition.
  Status End();

 private:
  Status Fold();
  Status Write(std::string_view key, std::string_view value);
  Status Flush();
  static int EmitFolded(void* context, mr_bytes batch);

  Options options_;
  Operator* oper_;
  ChunkOut out_;
  uint32_t partition_ = 0;
  BatchBuilder to_fold_;
  std::string last_to_fold_;  // key of the last record in to_fold_
  BatchBuilder builder_;
  std::string last_key_;    // of the last record written, if they are sorted
  bool any_ = false;        // a record of this partition has been written
  bool continues_ = false;  // the first record of builder_ has the key of the previous chunk
  std::string fold_bytes_, chunk_bytes_;
};

}  // namespace mr::task
