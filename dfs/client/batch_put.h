// Puts a batch of small files that share calls and syncs. Private to dfs/client.
#pragma once

#include <kj/async.h>

#include <functional>
#include <string>
#include <vector>

#include "dfs/block/pipeline.h"
#include "dfs/client/core.h"
#include "dfs/meta/service.h"

namespace mr::dfs {

// Files of at most this size are put in batches, whose files share calls and syncs (guess: one checksum of the block's
// sidecar; above, the bytes cost more than the calls).
constexpr uint64_t kBatchedFile = kChecksumChunk;
// Guess: two syncs, which a group shares, cost less per file than the file's other system calls.
constexpr size_t kFilesOfBatch = 64;
static_assert(kFilesOfBatch <= kMostFilesOfCall && kFilesOfBatch <= kMostSmallBlocks);
constexpr uint64_t kBytesOfBatch = 512 << 10;  // also those of its paths
static_assert(kBytesOfBatch <= kPieceBytes);
// Batches at once (guess: the four threads of a worker's store are never idle).
constexpr size_t kMostBatches = 8;

// A file of one block. at: its number, for the caller.
struct BatchedFile {
  size_t at = 0;
  std::string target;
  std::string bytes;
  uint64_t digest = 0;  // XXH3-64 of bytes
  uint32_t crc32c = 0;  // of bytes
};
using Batch = std::vector<BatchedFile>;

// Puts the files: one call starts all of them, one call per pipeline writes their blocks, one call completes them.
// ended: called for each file that was put or that failed for good, as soon as that is known. The others, when the
// promise resolves, can be put by themselves, with other workers or for the final error: nothing of them is visible.
// Thread: the client's loop. Requires: `ended` may be called until the promise resolves or is dropped.
kj::Promise<void> PutInOne(DfsClient::Impl& client, Batch batch, const PutOptions& options,
                           std::function<void(size_t at, const Status&)> ended);

}  // namespace mr::dfs
