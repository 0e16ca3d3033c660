// Stores the shuffle output of this worker's attempts in RocksDB until the job ends.
//
// Key: (job, stage, task, attempt, partition, chunk), big-endian, so that one output's chunks lie together in partition
// order. Chunk 0 of partition 0xffffffff is the partition table. Value: one stored chunk (ChunkHeader, then the bytes
// as they travel).
//
// Outputs from 4 MiB up become one SST each (SstFileWriter, ingested by move); smaller ones go through the shared
// memtable. A directory is a cohort: a slice of time or volume, opened ahead, closed and removed as a whole. A job past
// 256 MiB gets its own. The WAL is off: the store is wiped when its worker starts, because a new incarnation owns no
// outputs, and lost ones are made again.
//
// An output without chunks takes no space: its table follows from the number of its partitions.
//
// Thread-safe. Calls may access the disk: never make them on an event loop, except Begin, Has, Drop and drops. Writers
// must be destroyed before the store.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/digest.h"
#include "common/base/ids.h"
#include "common/base/shared_bytes.h"
#include "common/base/status.h"
#include "common/io/codec.h"
#include "common/model/output.h"

namespace mr::worker {

// Returns XXH3-128 over the rows' (records, bytes, content.low, content.high) as u64 little-endian.
Digest128 TableDigest(const std::vector<PartitionRow>& rows);

// A chunk as it is stored, and as it travels (data.capnp, Chunk).
struct StoredChunk {
  uint8_t codec = 0;  // mr::Codec
  uint32_t raw_bytes = 0;
  uint32_t records = 0;
  uint64_t wire_digest = 0;  // XXH3-64 of bytes
  SharedBytes bytes;
  bool checked = false;  // this process has compared the bytes with the digest
};

// The partition under which an output's table is stored, as chunk 0 in the form of EncodeTable (format.h).
inline constexpr uint32_t kTablePartition = 0xffffffff;
// Most bytes that a chunk may claim to decompress to: a batch of about kBatchTargetBytes, or one record of
// kMaxRecordBytes, with room for both.
inline constexpr uint32_t kMaxRawChunk = 18u << 20;
// Bytes before a batch in memory, for its header in the store.
inline constexpr uint32_t kChunkFront = 24;
// With 40 bytes per row, the largest table decompresses within kMaxRawChunk.
inline constexpr uint32_t kMaxPartitions = 1u << 18;

// Names a replica on this worker: the output, and the attempt that made it.
struct ReplicaKey {
  TaskId task;
  uint32_t attempt = 0;
  auto operator<=>(const ReplicaKey&) const = default;
};

class ShuffleStore {
 public:
  struct Options {
    std::string directory;
    uint64_t sst_bytes = 4ull << 20;  // from this size on, an output is one SST
    uint64_t own_cohort_bytes = 256ull << 20;
    uint64_t cohort_bytes = 1ull << 30;  // past this, a shared cohort takes no new outputs
    // From this size on, a shared cohort without live outputs is removed.
    uint64_t idle_cohort_bytes = 16ull << 20;
    uint64_t memtable_bytes = 64ull << 20;        // of one cohort, before it is flushed
    uint64_t all_memtables_bytes = 256ull << 20;  // of all cohorts together
    uint64_t block_cache_bytes = 64ull << 20;     // shared by all cohorts
    // Files of removed outputs that are kept, to be overwritten by new ones (store_env.h).
    uint64_t recycled_bytes = 1ull << 30;
    CodecPolicy codec;  // of the chunks
  };
  // Wipes the directory, which belonged to an earlier incarnation, and opens the first cohort.
  static Result<std::unique_ptr<ShuffleStore>> Open(const Options& options);
  virtual ~ShuffleStore() = default;

  class Writer {
   public:
    virtual ~Writer() = default;  // without Finish the output cannot be read
    // Compresses, digests and stores a batch. Partitions ascend; chunks of one partition come in order. raw_batch: one
    // checked batch of `records`, at most kMaxRawChunk long. After a failure the writer is unusable.
    // memory: null, or a string of kChunkFront bytes and then raw_batch, which is moved away if it need not be changed.
    virtual Status Add(uint32_t partition, uint32_t records, std::string_view raw_batch,
                       std::string* memory = nullptr) = 0;
    // Like Add, for a chunk in the stored form of another store, which is kept. raw_batch: its content.
    virtual Status AddStored(uint32_t partition, const StoredChunk& chunk, std::string_view raw_batch) = 0;
    // Makes the replica readable. Returns all `partitions` rows, also empty ones. Does not access the disk if nothing
    // was added.
    virtual Result<std::vector<PartitionRow>> Finish() = 0;
  };
  // Begins to write a replica. Errors: kRejected if this replica exists, kCancelled if its job has ended.
  virtual Result<std::unique_ptr<Writer>> Begin(const ReplicaKey& key, uint32_t partitions) = 0;

  // Reads a chunk, or the partition table. Errors: kNotFound if there is no such replica or chunk, kCorrupted if its
  // bytes are damaged. The bytes of a large chunk are those of the table's block in memory, which keep its database
  // open.
  virtual Result<StoredChunk> Get(const ReplicaKey& key, uint32_t partition, uint32_t chunk) = 0;
  virtual Result<std::vector<PartitionRow>> Table(const ReplicaKey& key) = 0;
  virtual bool Has(const ReplicaKey& key) = 0;
  virtual std::vector<ReplicaKey> Inventory() = 0;
  // Stops serving a replica at once. Its space is freed with its cohort.
  virtual void Drop(const ReplicaKey& key) = 0;
  // Returns a number that rises when a replica is dropped. If it has risen, check Has before sending bytes that were
  // read earlier.
  virtual uint64_t drops() const = 0;
  virtual void EndJob(JobId job) = 0;
  virtual uint64_t bytes() const = 0;  // stored bytes of live outputs
  // Removes what is kept for reuse if the disk has little room. Call it now and then, on the pool.
  virtual void Trim() = 0;
  // Returns when the background work requested so far (cohorts to open, to remove) is done.
  virtual void Settle() = 0;
};

}  // namespace mr::worker
