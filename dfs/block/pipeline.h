// The sending end of a write pipeline: writes one block to the first of several data servers, which passes it on. Used
// by file writers, pipeline members and repair.
#pragma once

#include <kj/async.h>

#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "dfs/block/peers.h"
#include "dfs/meta/record.h"

namespace mr::dfs {

using Piece = std::shared_ptr<const std::string>;

class BlockPipe {
 public:
  virtual ~BlockPipe() noexcept(false) = default;
  // Opens a pipeline. addresses: all of its servers, at least one; this end connects to the first. grants: to write the
  // block there, in the same order; may be empty. Where the first one is this process, see BlockServer::OpenHere.
  static kj::Promise<Result<kj::Own<BlockPipe>>> Open(Peers& peers, BlockRef block, std::vector<std::string> addresses,
                                                      std::vector<std::string> grants);

  // Sends the next piece (at most 1 MiB). Resolves when the pipeline has taken it. Calls may overlap and keep their
  // order; the caller limits how many are in flight.
  virtual kj::Promise<Status> Write(const Piece& piece) = 0;
  // Ends the block after all writes. Returns the workers that have it on disk.
  virtual kj::Promise<Result<std::vector<WorkerId>>> Finish(uint64_t length, uint64_t digest) = 0;
};

// A small block for SendBlocks. grants: to write it on each server of the pipeline, in their order; may be empty.
struct SmallBlock {
  BlockRef block;
  std::string bytes;
  uint32_t crc32c = 0;  // of bytes, by the process that made them
  std::vector<std::string> grants;
};
using SmallBlocks = std::shared_ptr<const std::vector<SmallBlock>>;

// The outcome of a block. Ok: durable on these workers.
struct StoredBlock {
  Status status;
  std::vector<WorkerId> durable;
};

// Blocks of one SendBlocks (guess: twice what `fs put` sends).
inline constexpr size_t kMostSmallBlocks = 128;

// Writes small blocks in one call through one pipeline. addresses: as in BlockPipe::Open. Returns what became of each
// block, in their order. Errors: those of the first server or of its connection, for all blocks. Requires: at most
// kMostSmallBlocks blocks and kPieceBytes bytes.
kj::Promise<Result<std::vector<StoredBlock>>> SendBlocks(Peers& peers, SmallBlocks blocks,
                                                         std::vector<std::string> addresses);

}  // namespace mr::dfs
