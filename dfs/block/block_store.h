// A worker's replicas on its disk: per block, one raw file of bytes and one checksum sidecar.
//
//   DIR/blocks/<2 hex>/<16 hex id>_<generation>.blk   the bytes, nothing else: a descriptor is data
//   DIR/blocks/<2 hex>/<16 hex id>_<generation>.sum   header, CRC32C of each 64 KiB, own CRC32C
//   DIR/blocks/<2 hex>/<16 hex id>_<generation>.bad   marks a damaged replica, with the reason
//   DIR/blocks/tmp/                                   unfinished writes; emptied at Open
//   DIR/blocks/quarantine/                            damaged files that a good replica replaced
//   DIR/blocks/scrub_cursor                           where the scrubber goes on
//
// A block exists once both files, their bytes and their directory entries are fsynced; a crash before that leaves
// nothing. Every read is verified. A replica that fails verification is kCorrupted and from then on suspect: it is
// reported to the observer and never served again, not even after a restart. It is never deleted here; only the master
// deletes, when it knows of enough other replicas.
//
// Thread: all calls are safe for concurrent use and may block on the disk, so call them on a pool thread, never on a KJ
// loop.
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

// Bytes of a block per checksum of the sidecar. A verified read of 1 byte costs one such read. HDFS uses 512 B, with a
// sidecar 128 times as large.
inline constexpr uint32_t kChecksumChunk = 64 << 10;
// Number of blocks with I/O errors from which the disk counts as failed (guess).
inline constexpr uint64_t kUnreadableBlocks = 3;

struct LocalBlock {
  UniqueFd fd;  // read-only, of the raw bytes
  uint64_t length = 0;
  // If the bytes were not verified: the CRC-32C of each chunk of kChecksumChunk bytes, from the block's first one to
  // the one that holds the last byte of the range.
  std::vector<uint32_t> crcs;
};

// A block to be written with others. bytes: all of the block, borrowed.
struct WholeBlock {
  BlockRef block;
  std::string_view bytes;
};

struct Suspect {
  BlockRef block;  // length and digest are 0 if unknown
  std::string why;
  bool aside = false;  // a good replica replaced it; the damaged bytes are in quarantine
};

class BlockStore {
 public:
  // Called on the thread that makes the finding, after the finding is on disk if possible. Must not call the store.
  struct Observers {
    // A read, scrub or mark found a bad replica. The scrubber reports it again in each pass.
    std::function<void(const Suspect&)> on_suspect;
    // A replica that had given an I/O error can be read completely again.
    std::function<void(const BlockRef&)> on_restored;
    // The disk has failed as a whole (why: the reason, with the disk's path), or works again (empty).
    std::function<void(const std::string& why)> on_disk;
  };

  // Makes `directory`/blocks if it is missing, removes unfinished writes and reads all sidecars. A block with a missing
  // or damaged sidecar is suspect.
  static Result<std::unique_ptr<BlockStore>> Open(const std::string& directory);
  ~BlockStore();
  // Sets the observers. Requires: no other thread uses the store yet.
  void Observe(Observers observers);

  // One block being written, by one caller at a time. Destroyed before Finish, it leaves nothing.
  class Writer {
   public:
    virtual ~Writer() = default;
    virtual Status Append(std::string_view bytes) = 0;
    // The bytes come from memory of this process: Finish takes their digest as it is given.
    virtual void TrustBytes() = 0;
    // Checks length and digest, makes the block durable, and only then lists it. Ok also if the block exists with the
    // same content. Errors: kCorrupted for other bytes; kRejected if the block exists with other content.
    virtual Result<BlockRef> Finish(uint64_t length, uint64_t digest) = 0;
  };
  // Begins to write a block. Errors: kOverloaded if the disk has less space than must stay free (KeepFree).
  Result<std::unique_ptr<Writer>> Create(BlockId id, uint32_t generation);
  // Writes small blocks together. They share two syncs of the whole file system, where a Writer syncs three times per
  // block (adr/0006). Where a sync of the file system promises too little or would write much else, each is written by
  // itself. Returns for each block, in their order, what Create and Finish would return. An error of one block is no
  // error of the others, except for that of a sync.
  // Cost: measured for 1 KB, 74 us of the worker's CPU per block in groups of 64, its calls included; by itself 612 us.
  std::vector<Status> WriteGroup(const std::vector<WholeBlock>& blocks);
  // When WriteGroup shares syncs; the default is kIfCheap. Requires: as for KeepFree.
  enum class WhenToShareSyncs { kNever, kIfCheap, kAlways };
  void ShareSyncs(WhenToShareSyncs when);
  // Refuses new blocks from now on while the disk is full (FreeSpaceGate). By default none is refused. Requires: no
  // other thread uses the store yet.
  void KeepFree(std::optional<uint64_t> bytes);
  // Whether large blocks are written past the page cache (DirectFile); the default. Requires: as for KeepFree.
  void WriteDirectly(bool direct);

  // Returns verified bytes [offset, offset + length), limited to the block's end. Errors: kNotFound; kCorrupted if the
  // replica is suspect, or was found damaged now.
  Result<std::string> Read(BlockId id, uint32_t generation, uint64_t offset, uint64_t length);
  // Opens the block for readers on this machine. verify: first checks [offset, offset + length) (length 0: to the end);
  // otherwise the checksums of this range are returned, for a reader that checks what it reads. The descriptor stays
  // valid after a Delete.
  Result<LocalBlock> OpenForRead(BlockId id, uint32_t generation, bool verify = true, uint64_t offset = 0,
                                 uint64_t length = 0);
  // Reads and checks the whole block.
  Status Verify(BlockId id, uint32_t generation);

  // Returns all good blocks, for WorkerInfo.blocks. Suspects are not included.
  std::vector<BlockRef> List() const;
  // Returns all damaged replicas, and those in quarantine (aside).
  std::vector<Suspect> Suspects() const;
  // Marks a replica that another reader found bad.
  void MarkSuspect(BlockId id, uint32_t generation, const std::string& why);
  // Deletes the replica, and its bytes in quarantine. Ok also if it is gone. Errors: kRejected if another generation is
  // here.
  Status Delete(BlockId id, uint32_t generation);
  // Removes the damaged bytes of this block that a good replica replaced. Ok also if there are none.
  Status EmptyQuarantine(BlockId id, uint32_t generation);
  uint64_t used_bytes() const;

  // Runs one step of the scrubber. It goes on where the last step ended, also after a restart, and wraps around. It
  // checks about max_bytes, at least one chunk, and the sidecars on disk. Findings are in the result and in Suspects().
  // The worker calls it on a timer.
  struct ScrubResult {
    uint64_t bytes = 0;
    bool wrapped = false;  // all blocks have been read once more
    std::vector<Suspect> found;
  };
  ScrubResult Scrub(uint64_t max_bytes);

  // Writes, syncs and removes a small file, to detect a failing or read-only disk. A full disk is no failure.
  void ProbeDisk();
  // Returns why the disk counts as failed, or "" if it works.
  std::string DiskFailure() const;

  struct Impl;

 private:
  explicit BlockStore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace mr::dfs
