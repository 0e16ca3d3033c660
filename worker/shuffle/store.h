// Shuffle output of this worker's attempts, in RocksDB, until its job ends.
//
// Key: (job, stage, task, attempt, partition, chunk), big-endian, so that one output's chunks lie
// together in partition order; chunk 0 of partition 0xffffffff is the partition table. Value: one
// stored chunk (ChunkHeader, then the bytes as they travel). Outputs from 4 MiB up become one SST
// each (SstFileWriter, ingested by move); smaller ones go through the shared memtable. Directories
// are cohorts: a slice of time or volume, opened ahead, closed and removed whole; a job past
// 256 MiB gets its own. WAL off: the store is wiped when its worker starts, since a new incarnation
// owns nothing, and what is lost is made again.
//
// Thread-safe. Calls may touch the disk: never from an event loop, but for Has, Drop and drops. Writers end before
// the store.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/digest.h"
#include "common/base/ids.h"
#include "common/base/status.h"

namespace mr::worker {

struct PartitionRow {
  uint64_t records = 0;
  uint64_t bytes = 0;   // uncompressed: sum of batch sizes
  Digest128 content;    // XXH3-128 over the partition's batches in order
  uint32_t chunks = 0;  // not part of TableDigest
};

inline bool operator==(const PartitionRow& a, const PartitionRow& b) {
  return a.records == b.records && a.bytes == b.bytes && a.content == b.content && a.chunks == b.chunks;
}

// XXH3-128 over the rows' (records, bytes, content.low, content.high) as u64 little-endian.
Digest128 TableDigest(const std::vector<PartitionRow>& rows);

// A stored chunk, as it also travels (data.capnp, Chunk).
struct StoredChunk {
  uint8_t codec = 0;  // mr::Codec
  uint32_t raw_bytes = 0;
  uint32_t records = 0;
  uint64_t wire_digest = 0;  // XXH3-64 of bytes
  std::string bytes;
};

// The table of an output is stored as chunk 0 of this partition, in the form of EncodeTable
// (format.h).
inline constexpr uint32_t kTablePartition = 0xffffffff;
// A batch of about kBatchTargetBytes, or one record of kMaxRecordBytes, with room for both: what a
// chunk may claim to decompress to.
inline constexpr uint32_t kMaxRawChunk = 18u << 20;
// 40 bytes a row: the largest table decompresses within kMaxRawChunk.
inline constexpr uint32_t kMaxPartitions = 1u << 18;

// Names a copy on this worker: output and the attempt that made it.
struct CopyKey {
  TaskId task;
  uint32_t attempt = 0;
  auto operator<=>(const CopyKey&) const = default;
};

class ShuffleStore {
 public:
  struct Options {
    std::string directory;
    uint64_t sst_bytes = 4ull << 20;  // from here up an output is one SST
    uint64_t own_cohort_bytes = 256ull << 20;
    uint64_t cohort_bytes = 1ull << 30;  // a shared cohort is closed to new outputs past this
    // A shared cohort in which nothing lives any more is removed from this size on.
    uint64_t idle_cohort_bytes = 16ull << 20;
    uint64_t memtable_bytes = 64ull << 20;        // of one cohort, before it is flushed
    uint64_t all_memtables_bytes = 256ull << 20;  // of all cohorts together
    uint64_t block_cache_bytes = 64ull << 20;     // shared by all cohorts
  };
  // Wipes the directory (what was there belonged to an earlier life) and opens the first cohort.
  static Result<std::unique_ptr<ShuffleStore>> Open(const Options& options);
  virtual ~ShuffleStore() = default;

  class Writer {
   public:
    virtual ~Writer() = default;  // without Finish: nothing of it can be read
    // Partitions ascend; chunks of one in order. raw_batch is one checked batch of `records`, at
    // most kMaxRawChunk long. Compresses, digests, stores. After a failure the writer is useless.
    virtual Status Add(uint32_t partition, uint32_t records, std::string_view raw_batch) = 0;
    // The same of a chunk as another store has it, kept in that form; raw_batch is what it holds.
    virtual Status AddStored(uint32_t partition, const StoredChunk& chunk, std::string_view raw_batch) = 0;
    // From here on the copy can be read. All `partitions` rows, empty ones too.
    virtual Result<std::vector<PartitionRow>> Finish() = 0;
  };
  // kRejected where this copy exists, kCancelled where its job has ended.
  virtual Result<std::unique_ptr<Writer>> Begin(const CopyKey& key, uint32_t partitions) = 0;

  // kNotFound where there is no such copy or chunk, kCorrupted where its bytes are damaged.
  virtual Result<StoredChunk> Get(const CopyKey& key, uint32_t partition, uint32_t chunk) = 0;
  virtual Result<std::vector<PartitionRow>> Table(const CopyKey& key) = 0;
  virtual bool Has(const CopyKey& key) = 0;
  virtual std::vector<CopyKey> Inventory() = 0;
  // Not served any more from here on; its space goes with its cohort.
  virtual void Drop(const CopyKey& key) = 0;
  // Rises when a copy goes: who holds bytes of one looks again whether it is there, before they leave.
  virtual uint64_t drops() const = 0;
  virtual void EndJob(JobId job) = 0;
  virtual uint64_t bytes() const = 0;  // stored, live
  // Returns when what was asked of the background (cohorts to open, to remove) so far is done.
  virtual void Settle() = 0;
};

}  // namespace mr::worker
