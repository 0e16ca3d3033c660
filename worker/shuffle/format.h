// The byte layout of keys, chunks and tables in the shuffle store. The store writes them, and the fetcher reads tables
// from the wire.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "worker/shuffle/store.h"

namespace mr::worker {

// A key is (job epoch, job seq, stage, task, attempt, partition, chunk), each u32 big-endian: memcmp order is the order
// of the numbers. Three zero bytes follow. With them the bytes of a chunk from 16 KiB to 2 MiB that begins a block of a
// table are aligned for a batch: before them are 5 bytes of lengths, the key, and 8 bytes of RocksDB's own.
inline constexpr size_t kStoreKeyBytes = 31;
std::string EncodeStoreKey(const ReplicaKey& key, uint32_t partition, uint32_t chunk);

// The header in front of the stored bytes. Little-endian.
struct ChunkHeader {
  uint32_t magic = kMagic;
  uint8_t codec = 0;
  uint8_t reserved[3] = {};
  uint32_t raw_bytes = 0;
  uint32_t records = 0;
  uint64_t wire_digest = 0;
  static constexpr uint32_t kMagic = 0x3143524d;  // "MRC1"
};
static_assert(sizeof(ChunkHeader) == 24);

// Writes the value of a chunk to `out`: header and compressed bytes. level: as for Compress; kStored if compression
// does not make it smaller. `out` is overwritten; reusing it saves fresh memory per chunk.
void EncodeChunk(std::string_view raw, uint32_t records, int level, std::string* out);
// Writes the value of a chunk that already has its stored form.
void EncodeStored(const StoredChunk& chunk, std::string* out);
// Makes the value of a chunk that is not compressed of its bytes, which begin after sizeof(ChunkHeader) bytes of
// *value.
void FrameChunk(uint32_t records, std::string* value);
// Parses a value. The chunk refers to its bytes and keeps their owner. Without an owner, or where a batch is not
// aligned, it gets a copy. Errors: kCorrupted if the header or the digest does not fit the bytes.
Result<StoredChunk> DecodeChunk(std::string_view value, std::shared_ptr<const void> owner = nullptr);

// A table has 40 bytes per row: records, bytes, content.low, content.high, chunks, each u64 little-endian.
std::string EncodeTable(const std::vector<PartitionRow>& rows);
Result<std::vector<PartitionRow>> DecodeTable(std::string_view raw);
// Returns the rows of an output without records.
std::vector<PartitionRow> EmptyRows(uint32_t partitions);

}  // namespace mr::worker
