#include "worker/shuffle/fetch_check.h"

#include <utility>

#include "common/abi/batch.h"
#include "common/io/bulk_digest.h"
#include "common/io/codec.h"
#include "common/io/ledger.h"
#include "worker/shuffle/format.h"

namespace mr::worker {
namespace {

Result<SharedBytes> Unpack(StoredChunk chunk) {
  if (!chunk.checked) {
    Ledger::Count(Ledger::wire_digest, chunk.bytes.size());
    if (BulkHash64(chunk.bytes) != chunk.wire_digest) return Corrupted("a chunk's bytes differ from its digest");
  }
  if (static_cast<Codec>(chunk.codec) == Codec::kStored && chunk.bytes.size() == chunk.raw_bytes) {
    return std::move(chunk.bytes);
  }
  std::string raw;
  Ledger::Count(Ledger::compress, chunk.raw_bytes);
  MR_RETURN_IF_ERROR(Decompress(static_cast<Codec>(chunk.codec), chunk.bytes, chunk.raw_bytes, kMaxRawChunk, &raw));
  return SharedBytes(std::move(raw));
}

}  // namespace

Result<std::vector<SharedBytes>> CheckChunks(std::vector<StoredChunk> chunks, PartitionCheck* check) {
  std::vector<SharedBytes> batches;
  for (StoredChunk& chunk : chunks) {
    MR_ASSIGN_OR_RETURN(SharedBytes raw, Unpack(std::move(chunk)));
    BatchView view;
    if (const char* wrong = BatchView::Parse(raw.data(), raw.size(), &view)) {
      return Corrupted(wrong);
    }
    check->records += view.size();
    check->bytes += raw.size();
    ++check->chunks;
    check->content.Update(raw);
    Ledger::Count(Ledger::content_digest, raw.size());
    if (check->bytes > check->row.bytes) return Corrupted("a partition is longer than its row says");
    batches.push_back(std::move(raw));
  }
  if (check->chunks < check->row.chunks) return batches;
  if (check->records != check->row.records || check->bytes != check->row.bytes ||
      check->content.Finish() != check->row.content) {
    return Corrupted("a partition differs from its row of the committed table");
  }
  return batches;
}

Status CheckTable(const std::vector<PartitionRow>& rows, uint32_t partitions, const Digest128& content) {
  if (rows.size() != partitions) {
    return Corrupted("a table has " + std::to_string(rows.size()) + " rows for " + std::to_string(partitions) +
                     " partitions");
  }
  if (TableDigest(rows) != content) return Corrupted("a table differs from the committed digest");
  for (const PartitionRow& row : rows) {
    // Chunk counts are not part of the digest. A wrong one must not make the reader request chunks without end.
    if ((row.chunks == 0) != (row.bytes == 0) || row.bytes / sizeof(BatchHeader) < row.chunks ||
        (row.bytes == 0 && row.records != 0)) {
      return Corrupted("a row of a table is inconsistent");
    }
  }
  return Status::Ok();
}

Result<Table> UnpackTable(const StoredChunk& chunk, uint32_t partitions, const Digest128& content) {
  MR_ASSIGN_OR_RETURN(const SharedBytes raw, Unpack(chunk));
  MR_ASSIGN_OR_RETURN(auto rows, DecodeTable(raw));
  MR_RETURN_IF_ERROR(CheckTable(rows, partitions, content));
  return Table(std::make_shared<const std::vector<PartitionRow>>(std::move(rows)));
}

}  // namespace mr::worker
