// Writes one output to the shuffle store: compresses and digests it chunk by chunk, keeps it in memory while it is
// small, and writes one sorted file from sst_bytes up.
#include <optional>
#include <utility>

#include "common/io/bulk_digest.h"
#include "common/io/codec.h"
#include "common/io/ledger.h"
#include "worker/shuffle/format.h"
#include "worker/shuffle/store_impl.h"

namespace mr::worker {
namespace {

// Smaller chunks say too little about the ratio of the rest (guess).
constexpr size_t kLeastSampleBytes = 4096;
constexpr int kFirstLevel = 1;
static_assert(kChunkFront == sizeof(ChunkHeader));

class StoreWriter : public ShuffleStore::Writer {
 public:
  StoreWriter(StoreImpl* store, const ReplicaKey& key, uint32_t partitions)
      : store_(store), key_(key), rows_(partitions) {}

  Status Add(uint32_t partition, uint32_t records, std::string_view raw_batch, std::string* memory) override {
    MR_RETURN_IF_ERROR(Open(partition, raw_batch));
    const int level = LevelOf(raw_batch);
    if (level == 0 && memory != nullptr) {
      value_ = std::move(*memory);
      FrameChunk(records, &value_);
      return Close(records, std::string_view(value_).substr(kChunkFront));
    }
    EncodeChunk(raw_batch, records, level, &value_);
    return Close(records, raw_batch);
  }

  Status AddStored(uint32_t partition, const StoredChunk& chunk, std::string_view raw_batch) override {
    MR_RETURN_IF_ERROR(Open(partition, raw_batch));
    EncodeStored(chunk, &value_);
    return Close(chunk.records, raw_batch);
  }

  Result<std::vector<PartitionRow>> Finish() override {
    if (failed_) return Rejected("this output has failed or is finished");
    failed_ = true;
    if (stored_ == 0) {
      MR_RETURN_IF_ERROR(store_->CommitEmpty(key_, static_cast<uint32_t>(rows_.size())));
      return EmptyRows(static_cast<uint32_t>(rows_.size()));
    }
    ClosePartition();
    const Digest128 empty = EmptyRows(1)[0].content;
    for (PartitionRow& row : rows_) {
      if (row.chunks == 0) row.content = empty;
    }
    EncodeChunk(EncodeTable(rows_), 0, /*level=*/0, &value_);
    MR_RETURN_IF_ERROR(Store(EncodeStoreKey(key_, kTablePartition, 0)));
    if (file_ != nullptr) MR_RETURN_IF_ERROR(file_->Finish());
    MR_RETURN_IF_ERROR(store_->Commit(key_, stored_, entries_, file_.get()));
    file_.reset();
    entries_.clear();
    return rows_;
  }

 private:
  // Returns the level for a batch: that of the output, once a batch was large enough to choose it.
  int LevelOf(std::string_view raw_batch) {
    const CodecPolicy& policy = store_->options().codec;
    if (!level_ && !policy.MayCompress()) level_ = 0;
    if (level_) return *level_;
    if (raw_batch.size() < kLeastSampleBytes) return kFirstLevel;
    const std::string_view sample = raw_batch.substr(0, kRatioSampleBytes);
    std::string packed;
    Compress(sample, kFirstLevel, &packed);
    level_ = policy.Level(sample.size(), packed.size());
    return *level_;
  }

  // Begins a chunk of this partition. After a failure no other call gets past it.
  Status Open(uint32_t partition, std::string_view raw_batch) {
    if (failed_) return Rejected("this output has failed before");
    failed_ = true;
    if (partition >= rows_.size() || partition < partition_) {
      return InvalidArgument("partition " + std::to_string(partition) + " after " + std::to_string(partition_) +
                             " of " + std::to_string(rows_.size()));
    }
    if (raw_batch.empty() || raw_batch.size() > kMaxRawChunk) {
      return InvalidArgument("a batch of " + std::to_string(raw_batch.size()) + " bytes cannot be a chunk");
    }
    if (partition != partition_) ClosePartition();
    partition_ = partition;
    return Status::Ok();
  }

  // Stores value_, which is this batch as a chunk.
  Status Close(uint32_t records, std::string_view raw_batch) {
    PartitionRow& row = rows_[partition_];
    content_.Update(raw_batch);
    Ledger::Count(Ledger::content_digest, raw_batch.size());
    row.records += records;
    row.bytes += raw_batch.size();
    MR_RETURN_IF_ERROR(Store(EncodeStoreKey(key_, partition_, row.chunks)));
    ++row.chunks;
    failed_ = false;
    return Status::Ok();
  }

  void ClosePartition() {
    if (rows_.empty()) return;
    rows_[partition_].content = content_.Finish();
    content_ = BulkHasher128();
  }

  // Stores value_ under this key.
  Status Store(std::string key) {
    stored_ += value_.size();
    // The table copies the value into a block, sums and writes it.
    Ledger::Count(Ledger::table_copy, value_.size());
    Ledger::Count(Ledger::table_sum, value_.size());
    Ledger::Count(Ledger::table_write, value_.size());
    if (file_ != nullptr) return file_->Put(key, value_);
    entries_.emplace_back(std::move(key), std::exchange(value_, {}));
    if (stored_ < store_->options().sst_bytes) return Status::Ok();
    MR_ASSIGN_OR_RETURN(file_, store_->NewSstFile());
    for (const auto& [k, v] : entries_) MR_RETURN_IF_ERROR(file_->Put(k, v));
    entries_.clear();
    entries_.shrink_to_fit();
    return Status::Ok();
  }

  StoreImpl* const store_;
  const ReplicaKey key_;
  std::vector<PartitionRow> rows_;
  uint32_t partition_ = 0;
  BulkHasher128 content_;  // of partition_, so far
  std::optional<int> level_;
  uint64_t stored_ = 0;
  std::string value_;                // the chunk that is being stored
  std::vector<StoreEntry> entries_;  // while there is no file
  std::unique_ptr<SstFile> file_;
  bool failed_ = false;
};

}  // namespace

Result<std::unique_ptr<ShuffleStore::Writer>> StoreImpl::Begin(const ReplicaKey& key, uint32_t partitions) {
  if (!key.task.job.valid() || key.attempt == 0) return InvalidArgument("a replica needs an attempt");
  if (partitions > kMaxPartitions) {
    return InvalidArgument(std::to_string(partitions) + " partitions are more than " + std::to_string(kMaxPartitions) +
                           ", the most that an output can have");
  }
  std::lock_guard lock(mutex_);
  MR_RETURN_IF_ERROR(CheckNew(key));
  return std::unique_ptr<Writer>(std::make_unique<StoreWriter>(this, key, partitions));
}

}  // namespace mr::worker
