// A worker's replicas on its disk: one raw file of bytes and one checksum sidecar per block.
//
//   DIR/blocks/<2 hex>/<16 hex id>_<generation>.blk   the bytes, nothing else: a descriptor is data
//   DIR/blocks/<2 hex>/<16 hex id>_<generation>.sum   header, CRC32C of each 64 KiB, own CRC32C
//   DIR/blocks/<2 hex>/<16 hex id>_<generation>.bad   the replica is damaged, and why
//   DIR/blocks/tmp/                                   being written; emptied at Open
//   DIR/blocks/quarantine/                            damaged files whose place a good replica took
//   DIR/blocks/scrub_cursor                           where the scrubber goes on
//
// A block exists from the moment in which both files, their bytes and their directory entries are
// fsynced; before that a crash leaves nothing. Every read is verified. What fails verification is
// kCorrupted and is remembered as suspect: reported to the observer, never served again, also not
// after a restart, and never deleted here (only the master deletes, when it knows of enough other
// replicas).
//
// All calls may block on the disk: on a pool thread, never on a KJ loop. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
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
// Blocks that give I/O errors before the disk as a whole counts as failed (guess).
inline constexpr uint64_t kUnreadableBlocks = 3;

struct LocalBlock {
  UniqueFd fd;  // read-only, of the raw bytes
  uint64_t length = 0;
};

struct Suspect {
  BlockRef block;  // length and digest 0 where they are not known
  std::string why;
  bool aside = false;  // a good replica has taken its place; the damaged bytes are in quarantine
};

class BlockStore {
 public:
  // Called on whichever thread finds out, once the finding is on disk where it can be. Must not call the store.
  struct Observers {
    // A replica turned out bad, by whatever read, scrub or mark; the scrubber says it again each time it passes.
    std::function<void(const Suspect&)> on_suspect;
    // A replica that had given an I/O error reads well again, all of it.
    std::function<void(const BlockRef&)> on_restored;
    // The disk fails as a whole (why, naming it), or works again (empty).
    std::function<void(const std::string& why)> on_disk;
  };

  // Makes `directory`/blocks where missing, removes unfinished writes, reads all sidecars. A block
  // whose sidecar is missing or damaged is a suspect.
  static Result<std::unique_ptr<BlockStore>> Open(const std::string& directory);
  ~BlockStore();
  // Before other threads use the store.
  void Observe(Observers observers);

  // One block being written, by one caller at a time. Destroyed before Finish: nothing remains.
  class Writer {
   public:
    virtual ~Writer() = default;
    virtual Status Append(std::string_view bytes) = 0;
    // Checks length and digest (kCorrupted), makes it durable, and only then lists it. kRejected
    // where this block is there already with other content; with the same content it is Ok.
    virtual Result<BlockRef> Finish(uint64_t length, uint64_t digest) = 0;
  };
  // kOverloaded where the disk has less room than is to be kept free (KeepFree).
  Result<std::unique_ptr<Writer>> Create(BlockId id, uint32_t generation);
  // From now on new blocks are refused on a disk without room, as FreeSpaceGate has it. Without a call they never are.
  // Before other threads use the store.
  void KeepFree(std::optional<uint64_t> bytes);

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
  // All damaged replicas, and what lies in quarantine (aside).
  std::vector<Suspect> Suspects() const;
  // Somebody else's reader found it bad.
  void MarkSuspect(BlockId id, uint32_t generation, const std::string& why);
  // Ok also where it is gone already; kRejected where another generation is here. Takes what is in quarantine too.
  Status Delete(BlockId id, uint32_t generation);
  // Removes the damaged bytes of this block that a good replica replaced. Ok also where there are none.
  Status EmptyQuarantine(BlockId id, uint32_t generation);
  uint64_t used_bytes() const;

  // One step of the scrubber: goes on from where the last one ended, also over a restart, checks at
  // least one chunk and about max_bytes, wraps around. The worker calls it on a timer. Sidecars on
  // disk are checked with the bytes. What it found bad is in the result and among Suspects().
  struct ScrubResult {
    uint64_t bytes = 0;
    bool wrapped = false;  // all blocks have been seen once more
    std::vector<Suspect> found;
  };
  ScrubResult Scrub(uint64_t max_bytes);

  // Writes, syncs and removes a small file, to find a disk that has turned read-only or fails. A full disk is none.
  void ProbeDisk();
  // Why the disk counts as failed; empty: it works.
  std::string DiskFailure() const;

  struct Impl;

 private:
  explicit BlockStore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace mr::dfs
