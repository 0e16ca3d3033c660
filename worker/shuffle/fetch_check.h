// The checks that fetched bytes pass before anybody reads them. Pure, run on the pool. For
// fetch*.cc and replicate.cc only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "worker/shuffle/fetch.h"

namespace mr::worker {

// What of a partition has been checked so far; its chunks pass through in order, one call at a time.
struct PartitionCheck {
  PartitionRow row;  // what it must amount to
  Hasher128 content;
  uint64_t records = 0;
  uint64_t bytes = 0;
  uint32_t chunks = 0;
};

// Wire digest, size, batch form of each chunk; with the last one of the row also the row's counts
// and content digest. The batches, or kCorrupted.
Result<std::vector<std::string>> CheckChunks(const std::vector<StoredChunk>& chunks, PartitionCheck* check);

using Table = std::shared_ptr<const std::vector<PartitionRow>>;

// That the rows are those of the committed digest, and that each makes sense.
Status CheckTable(const std::vector<PartitionRow>& rows, uint32_t partitions, const Digest128& content);
// The same of a table as it was fetched.
Result<Table> UnpackTable(const StoredChunk& chunk, uint32_t partitions, const Digest128& content);

}  // namespace mr::worker
