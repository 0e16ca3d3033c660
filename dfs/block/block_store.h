// A worker's replicas on its disk: one raw file of bytes and one checksum sidecar per block.
//
//   DIR/blocks/<2 hex>/<16 hex id>_<generation>.blk   the bytes, nothing else: a descriptor is data
//   DIR/blocks/<2 hex>/<16 hex id>_<generation>.sum   header, CRC32C of each 64 KiB, own CRC32C
//   DIR/blocks/tmp/                                   being written; emptied at Open
//
// A block exists from the moment in which both files, their bytes and their directory entries are
// fsynced; before that a crash leaves nothing. Every read is verified. What fails verification is
// kCorrupted and is remembered as suspect: never served again, never deleted here (only the master
// deletes, when it knows of enough other replicas).
//
// All calls may block on the disk: on a pool thread, never on a KJ loop. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/io/files.h"
#include "dfs/meta/record.h"

namespace mr::dfs {

// Of the sidecar. 64 KiB: a verified read of 1 byte costs one such read; HDFS has 512 B, with a
// sidecar 128 times as large.
inline constexpr uint32_t kChecksumChunk = 64 << 10;

struct LocalBlock {
  UniqueFd fd;         // read-only, of the raw bytes
  uint64_t length = 0;
};

struct Suspect {
  BlockRef block;
  std::string why;
};

class BlockStore {
 public:
  // Makes `directory`/blocks where missing, removes unfinished writes, reads all sidecars. A block
  // whose sidecar is missing or damaged is a suspect.
  static Result<std::unique_ptr<BlockStore>> Open(const std::string& directory);
  ~BlockStore();

  // One block being written, by one caller at a time. Destroyed before Finish: nothing remains.
  class Writer {
   public:
    virtual ~Writer() = default;
    virtual Status Append(std::string_view bytes) = 0;
    // Checks length and digest (kCorrupted), makes it durable, and only then lists it. kRejected
    // where this block is there already with other content; with the same content it is Ok.
    virtual Result<BlockRef> Finish(uint64_t length, uint64_t digest) = 0;
  };
  Result<std::unique_ptr<Writer>> Create(BlockId id, uint32_t generation);

  // Bytes [offset, offset + length), cut at the block's end, verified. kNotFound where there is no
  // such block; kCorrupted where it is suspect or has just been found damaged.
  Result<std::string> Read(BlockId id, uint32_t generation, uint64_t offset, uint64_t length);
  // The block as a descriptor, for readers on this machine. verify: checks [offset, offset + length)
  // of it first (length 0: to the end); a descriptor outlives a later Delete.
  Result<LocalBlock> OpenForRead(BlockId id, uint32_t generation, bool verify = true, uint64_t offset = 0,
                                 uint64_t length = 0);
  // Reads and checks all of it.
  Status Verify(BlockId id, uint32_t generation);

  // For WorkerInfo.blocks: all good blocks. Suspects are not among them.
  std::vector<BlockRef> List() const;
  std::vector<Suspect> Suspects() const;
  // Somebody else's reader found it bad, or its file gave an I/O error.
  void MarkSuspect(BlockId id, uint32_t generation, const std::string& why);
  // Ok also where it is gone already; kRejected where another generation is here.
  Status Delete(BlockId id, uint32_t generation);
  uint64_t used_bytes() const;

  // One step of the scrubber: goes on from where the last one ended, checks at least one chunk and
  // about max_bytes, wraps around. The worker calls it on a timer (8 MiB each second: 64 MiB blocks
  // of 1 TB in 35 h). What it found bad is in the result and among Suspects().
  struct ScrubResult {
    uint64_t bytes = 0;
    bool wrapped = false;  // all blocks have been seen once more
    std::vector<Suspect> found;
  };
  ScrubResult Scrub(uint64_t max_bytes);

  struct Impl;

 private:
  explicit BlockStore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace mr::dfs
