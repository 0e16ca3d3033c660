#include "worker/task/partition_buffer.h"

#include <algorithm>

namespace mr::task {
namespace {
// The smallest target of a chunk. Each partition may have an open chunk, so chunks are smaller with many partitions.
// Below this, the header of a chunk and its record in the shuffle store would cost more than its bytes (guess).
constexpr uint64_t kLeastChunkBytes = 16u << 10;
}  // namespace

PartitionBuffer::PartitionBuffer(Options options, Operator* oper)
    : options_(std::move(options)),
      oper_(oper),
      target_(std::clamp<uint64_t>(options_.budget / (2 * uint64_t{options_.how.partitions}), kLeastChunkBytes,
                                   kBatchTargetBytes)),
      partitions_(options_.how.partitions),
      spill_(options_.scratch_directory) {}

Status PartitionBuffer::Add(std::string_view batch) {
  BatchView view;
  if (const char* wrong = BatchView::Parse(batch.data(), batch.size(), &view)) {
    return InvalidArgument("operator " + oper_->name() + " emitted a bad batch: " + wrong);
  }
  MR_RETURN_IF_ERROR(FindPartitions(options_.how, oper_, batch, view, &places_));
  for (uint32_t i = 0; i < view.size(); ++i) {
    Partition& partition = partitions_[places_[i]];
    const std::string_view key = view.key(i), value = view.value(i);
    const bool alone = key.size() + value.size() > kOwnChunkBytes;
    if (partition.open.Full(target_) || (alone && !partition.open.empty())) Close(&partition);
    partition.open.Add(key, value);
    open_ += 8 + key.size() + value.size();
    if (alone) Close(&partition);
    if (used_ + open_ > options_.budget) MR_RETURN_IF_ERROR(Spill());
  }
  return {};
}

void PartitionBuffer::Close(Partition* partition) {
  open_ -= partition->open.bytes() - BatchBuilder().bytes();  // the bytes that Add counted
  Piece& piece = partition->pieces.emplace_back();
  piece.records = partition->open.size();
  piece.bytes.reserve(partition->open.bytes());
  partition->open.Finish(0, &piece.bytes);
  used_ += piece.bytes.size();
}

Status PartitionBuffer::Spill() {
  // With more partitions than the budget has chunks, open chunks take most of it.
  const bool all = open_ > options_.budget / 2;
  for (Partition& partition : partitions_) {
    if (all && !partition.open.empty()) {
      Close(&partition);
      partition.open = BatchBuilder();
    }
    for (Piece& piece : partition.pieces) {
      if (piece.bytes.empty()) continue;
      piece.size = piece.bytes.size();
      MR_ASSIGN_OR_RETURN(piece.offset, spill_.Append(piece.bytes));
      std::string().swap(piece.bytes);  // an assignment would keep the memory
    }
  }
  used_ = 0;
  return {};
}

Status PartitionBuffer::Finish(const ChunkOut& out) {
  for (uint32_t p = 0; p < partitions_.size(); ++p) {
    Partition& partition = partitions_[p];
    if (!partition.open.empty()) Close(&partition);
    for (Piece& piece : partition.pieces) {
      if (!piece.bytes.empty()) {
        MR_RETURN_IF_ERROR(out(p, piece.records, piece.bytes));
        std::string().swap(piece.bytes);
        continue;
      }
      MR_ASSIGN_OR_RETURN(const char* data, spill_.At(piece.offset, piece.size));
      MR_RETURN_IF_ERROR(out(p, piece.records, {data, piece.size}));
    }
  }
  return {};
}

}  // namespace mr::task
