#include "worker/shuffle/format.h"

#include <bit>
#include <cstring>
#include <utility>

#include "common/io/bulk_digest.h"
#include "common/io/codec.h"
#include "common/io/ledger.h"

namespace mr::worker {
namespace {

static_assert(std::endian::native == std::endian::little, "stored integers are little-endian");
constexpr size_t kRowWords = 5;

}  // namespace

std::string EncodeStoreKey(const ReplicaKey& key, uint32_t partition, uint32_t chunk) {
  const uint32_t fields[] = {key.task.job.epoch, key.task.job.seq, key.task.stage, key.task.task,
                             key.attempt,        partition,        chunk};
  std::string out(kStoreKeyBytes, '\0');
  char* at = out.data();
  for (uint32_t field : fields) {
    const uint32_t big = __builtin_bswap32(field);
    std::memcpy(at, &big, sizeof big);
    at += sizeof big;
  }
  return out;
}

void EncodeStored(const StoredChunk& chunk, std::string* out) {
  ChunkHeader header;
  header.codec = chunk.codec;
  header.raw_bytes = chunk.raw_bytes;
  header.records = chunk.records;
  header.wire_digest = chunk.wire_digest;
  out->clear();
  out->reserve(sizeof header + chunk.bytes.size());
  out->append(reinterpret_cast<const char*>(&header), sizeof header);
  out->append(chunk.bytes.view());
}

void EncodeChunk(std::string_view raw, uint32_t records, int level, std::string* out) {
  thread_local std::string packed;
  std::string_view bytes = raw;
  Codec codec = Codec::kStored;
  if (level != 0) {
    codec = Compress(raw, level, &packed);
    bytes = packed;
  }
  ChunkHeader header;
  header.codec = static_cast<uint8_t>(codec);
  header.raw_bytes = static_cast<uint32_t>(raw.size());
  header.records = records;
  header.wire_digest = BulkHash64(bytes);
  Ledger::Count(Ledger::compress, level == 0 ? 0 : raw.size());
  Ledger::Count(Ledger::wire_digest, bytes.size());
  Ledger::Count(Ledger::chunk_copy, bytes.size());
  out->clear();
  out->reserve(sizeof header + bytes.size());
  out->append(reinterpret_cast<const char*>(&header), sizeof header);
  out->append(bytes);
}

void FrameChunk(uint32_t records, std::string* value) {
  const std::string_view bytes = std::string_view(*value).substr(sizeof(ChunkHeader));
  ChunkHeader header;
  header.codec = static_cast<uint8_t>(Codec::kStored);
  header.raw_bytes = static_cast<uint32_t>(bytes.size());
  header.records = records;
  header.wire_digest = BulkHash64(bytes);
  Ledger::Count(Ledger::wire_digest, bytes.size());
  std::memcpy(value->data(), &header, sizeof header);
}

Result<StoredChunk> DecodeChunk(std::string_view value, std::shared_ptr<const void> owner) {
  ChunkHeader header;
  if (value.size() < sizeof header) return Corrupted("a stored chunk is shorter than its header");
  std::memcpy(&header, value.data(), sizeof header);
  const std::string_view bytes = value.substr(sizeof header);
  if (header.magic != ChunkHeader::kMagic) return Corrupted("a stored chunk has no header");
  if (BulkHash64(bytes) != header.wire_digest) return Corrupted("a stored chunk differs from its digest");
  Ledger::Count(Ledger::wire_digest, bytes.size());
  StoredChunk chunk;
  chunk.codec = header.codec;
  chunk.raw_bytes = header.raw_bytes;
  chunk.records = header.records;
  chunk.wire_digest = header.wire_digest;
  chunk.checked = true;
  const bool batch = static_cast<Codec>(header.codec) == Codec::kStored;
  const bool aligned = reinterpret_cast<uintptr_t>(bytes.data()) % alignof(uint32_t) == 0;
  if (owner != nullptr && (aligned || !batch)) {
    chunk.bytes = SharedBytes(bytes, std::move(owner));
    return chunk;
  }
  chunk.bytes = std::string(bytes);
  Ledger::Count(Ledger::chunk_copy, bytes.size());
  return chunk;
}

Digest128 TableDigest(const std::vector<PartitionRow>& rows) {
  std::vector<uint64_t> words;
  words.reserve(rows.size() * 4);
  for (const PartitionRow& row : rows) {
    words.insert(words.end(), {row.records, row.bytes, row.content.low, row.content.high});
  }
  return Hash128({reinterpret_cast<const char*>(words.data()), words.size() * 8});
}

std::string EncodeTable(const std::vector<PartitionRow>& rows) {
  std::string out;
  out.reserve(rows.size() * kRowWords * 8);
  for (const PartitionRow& row : rows) {
    const uint64_t words[kRowWords] = {row.records, row.bytes, row.content.low, row.content.high, row.chunks};
    out.append(reinterpret_cast<const char*>(words), sizeof words);
  }
  return out;
}

Result<std::vector<PartitionRow>> DecodeTable(std::string_view raw) {
  constexpr size_t kRowBytes = kRowWords * 8;
  if (raw.size() % kRowBytes != 0) return Corrupted("a partition table has an invalid length");
  std::vector<PartitionRow> rows(raw.size() / kRowBytes);
  for (size_t i = 0; i < rows.size(); ++i) {
    uint64_t words[kRowWords];
    std::memcpy(words, raw.data() + i * kRowBytes, sizeof words);
    if (words[4] > 0xffffffffu) return Corrupted("a partition table counts too many chunks");
    rows[i] = {words[0], words[1], {words[2], words[3]}, static_cast<uint32_t>(words[4])};
  }
  return rows;
}

std::vector<PartitionRow> EmptyRows(uint32_t partitions) {
  static const PartitionRow row{0, 0, BulkHasher128().Finish(), 0};
  return std::vector<PartitionRow>(partitions, row);
}

}  // namespace mr::worker
