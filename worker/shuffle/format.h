// How the shuffle store lays out keys, chunks and tables as bytes. Shared by the store, which
// writes them, and the fetcher, which reads tables from the wire.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "worker/shuffle/store.h"

namespace mr::worker {

// (job epoch, job seq, stage, task, attempt, partition, chunk), each u32 big-endian: memcmp order
// is the order of the numbers.
inline constexpr size_t kStoreKeyBytes = 28;
std::string EncodeStoreKey(const CopyKey& key, uint32_t partition, uint32_t chunk);

// In front of the stored bytes; little-endian.
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

// The value of a chunk: header and compressed bytes. level as for Compress; kStored from it where
// that is not smaller. `out` is overwritten; reusing it saves fresh memory for each chunk.
void EncodeChunk(std::string_view raw, uint32_t records, int level, std::string* out);
// The value of a chunk that has its stored form already.
void EncodeStored(const StoredChunk& chunk, std::string* out);
// Checks the header and the digest: kCorrupted where they do not fit the bytes.
Result<StoredChunk> DecodeChunk(std::string_view value);

// 40 bytes a row: records, bytes, content.low, content.high, chunks, each u64 little-endian.
std::string EncodeTable(const std::vector<PartitionRow>& rows);
Result<std::vector<PartitionRow>> DecodeTable(std::string_view raw);

}  // namespace mr::worker
