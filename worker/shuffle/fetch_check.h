// The checks that fetched bytes pass before any use. Pure; run on the pool. For fetch*.cc and replicate.cc only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/io/bulk_digest.h"
#include "worker/shuffle/fetch.h"

namespace mr::worker {

// The state of the checks of one partition. Its chunks pass through in order, one call at a time.
struct PartitionCheck {
  PartitionRow row;  // the expected totals
  BulkHasher128 content;
  uint64_t records = 0;
  uint64_t bytes = 0;
  uint32_t chunks = 0;
};

// Checks wire digest, size and batch form of each chunk; with the last chunk of the row also the row's counts and
// content digest. Returns the batches, or kCorrupted. Bytes of chunks that are not compressed are shared, not copied.
Result<std::vector<SharedBytes>> CheckChunks(std::vector<StoredChunk> chunks, PartitionCheck* check);

using Table = std::shared_ptr<const std::vector<PartitionRow>>;

// Checks that the rows match the committed digest, and that each row is consistent.
Status CheckTable(const std::vector<PartitionRow>& rows, uint32_t partitions, const Digest128& content);
// Unpacks a fetched table and checks it in the same way.
Result<Table> UnpackTable(const StoredChunk& chunk, uint32_t partitions, const Digest128& content);

}  // namespace mr::worker
