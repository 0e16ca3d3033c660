// The brain of the block store: files, directories, leases, blocks, where replicas are, what to
// repair. A deterministic function: the same records give the same effects and the same digests.
// It reads no clock, does no I/O, starts no thread; time is in the records.
//
// How a master uses it (one thread owns it, the same that owns the scheduler):
//
//   caller asks ->  auto record = ns.Prepare...(stamp, request)      const; all validation is here
//                   not ok: answer the status. nullopt: already so, answer ok.
//                   journal.Append(Encode(*record))                  hard (IsHard) or soft
//                   auto effects = ns.Apply(*record)                 never fails, never validates
//                   after the record is durable: answer, and dispatch the effects.
//
//   Effects leave only after their record is durable: a delete that overtook the removal of its
//   file would lose data in a crash. (Effects of soft records may leave once every hard record
//   before them is durable; the journal's order gives that.)
//
//   start        ns.Restore(snapshot); Apply each hard record of the journal's tail, ignoring the
//                effects; then Apply(MasterStarted{now, workers known before}). Safe mode until they
//                are back, or until kSafeModeWait.
//   registers    Apply(WorkerJoined{...WorkerInfo.blocks...}); a worker lost: Apply(WorkerGone).
//   blockReceived -> Apply(ReplicaDurable);  blockSuspect -> Apply(ReplicaSuspect).
//   each second  for (Record& r : ns.Due(now)) journal + Apply as above (expired leases, repairs).
//   job's commit ns.PrepareCommit(...) on the CommitJob decision; not ok fails the job. The record
//                goes inside the job's own journal record; Apply it there.
//   job's end    (failed, killed): ns.PrepareRemove("/.staging/<job>", recursive); kNotFound is fine.
//   planning     ns.FilesUnder(path) gives the files; ns.PreparePin(ids) keeps them until PrepareRelease at the
//                job's end; ns.LocateFile(id, ...) says where their blocks are.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "dfs/meta/drain.h"
#include "dfs/meta/record.h"

namespace mr::dfs {

struct NamespaceConfig {
  uint32_t replication = 3;
  uint64_t block_bytes = 64ull << 20;
  // GFS and HDFS let a lease live 60 s without a renewal.
  Duration lease_time = Seconds(60);
  // How long a lost worker may take to come back before its blocks are copied. HDFS waits 10 min
  // against storms of copies; on clusters of our size a copy is cheap, a restart takes 2 s (guess).
  Duration repair_delay = Seconds(15);
  // A copy that was not reported by then is asked for again (64 MiB take 0.1 s here; guess).
  Duration repair_timeout = Seconds(60);
  // Pause of a block whose copies failed from every source and to every target, or three times (guess).
  Duration repair_retry = Seconds(15);
  // Longest safe mode; HDFS waits 30 s beyond its threshold.
  Duration safe_mode_wait = Seconds(30);
  // Copies that one worker sends at a time (HDFS: 2).
  uint32_t repairs_per_worker = 2;
};

// "/a/b": absolute, no empty, '.' or '..' component, no control characters, valid UTF-8, a
// component at most 255 bytes, all at most 4096. "/" itself is the root. The reason names the path.
Status CheckPath(const std::string& path);

struct FileInfo {
  uint64_t id = 0;  // of this version of the file: another one that is put over it has another id. 0 = not known
  std::string path;
  bool is_directory = false;
  uint64_t bytes = 0;
  uint32_t replication = 0;
  uint64_t block_bytes = 0;
  uint32_t blocks = 0;
  uint32_t missing_blocks = 0;  // without any good replica now
  uint32_t least_replicas = 0;  // good ones now, of the block that has the fewest; without blocks: as wanted
  uint64_t modified_unix_ms = 0;
};

struct LocatedBlock {
  BlockRef block;
  uint64_t offset = 0;                 // of its first byte in the file
  std::vector<WorkerId> workers;       // good replicas, nearest first
  std::vector<std::string> addresses;  // of their data servers, in the same order
  std::vector<std::string> damaged;    // other replicas, which are not read: "w2 (host:port)"
};

// A part of a directory, in the order of names.
struct ListedFiles {
  std::vector<FileInfo> entries;
  bool more = false;  // names behind the last entry
};

struct LocatedFile {
  FileInfo info;
  std::vector<LocatedBlock> blocks;
  std::string inline_data;  // of a file without blocks: its bytes
};

struct RepairCounts {
  uint64_t blocks = 0;            // of visible files
  uint64_t missing = 0;           // of those: no good replica
  uint64_t under_replicated = 0;  // of those: fewer than wanted (and possible)
  uint64_t copying = 0;           // copies asked for and not yet reported
  uint64_t suspect = 0;           // quarantined replicas
};

// What is wrong with the blocks of visible files.
struct StoreHealth {
  struct Trouble {
    std::string path;
    uint32_t blocks = 0;
    uint32_t missing = 0;              // blocks without any replica on a live worker
    uint32_t corrupt = 0;              // blocks whose replicas on live workers are all damaged
    uint32_t under_replicated = 0;     // blocks with a good replica, but fewer than wanted (and possible)
    std::vector<std::string> damaged;  // where damaged replicas are: "w2 (host:port)", each once
  };
  struct Disk {
    WorkerId worker;
    std::string address, why;
  };
  bool safe_mode = false;
  uint64_t files = 0, missing_files = 0, corrupt_files = 0, under_replicated_files = 0;
  std::vector<Trouble> troubles;  // missing files first, then corrupt, then under-replicated ones; bounded
  std::vector<Disk> failed_disks;
  std::vector<WorkerId> awaited;  // alive before the master's start, and not back
};

// A walk over all files for their health, between two parts of it.
struct HealthWalk {
  uint64_t from = 0;                                          // the id of the file to go on with
  StoreHealth health;                                         // whole at the end of the walk
  std::array<std::vector<StoreHealth::Trouble>, 3> troubles;  // missing, corrupt, under-replicated
};

class Namespace {
 public:
  explicit Namespace(NamespaceConfig config);
  ~Namespace();
  Namespace(const Namespace&) = delete;
  Namespace& operator=(const Namespace&) = delete;

  using Prepared = Result<std::optional<Record>>;

  // Each checks the request against the present state. nullopt: already so (a repeated request).
  // replication and block_bytes: 0 = the default. A repeated request_id gives the lease it gave.
  Prepared PrepareCreate(const Stamp& stamp, const std::string& path, bool overwrite, uint32_t replication,
                         uint64_t block_bytes, const std::string& request_id) const;
  // The lease that this request_id holds; 0 = none. After PrepareCreate and Apply.
  uint64_t LeaseOf(const std::string& request_id) const;
  // The path that an open lease writes to; "": there is no such lease.
  std::string PathOfLease(uint64_t lease) const;
  // near: data server address of the writer's own worker, or "".
  Prepared PrepareAddBlock(const Stamp& stamp, uint64_t lease, uint32_t index, const std::string& near) const;
  // kUnavailable where a block is not on max(1, min(2, R, K)) workers yet: write that block again. K counts
  // the workers that can take blocks, and those that were alive before the master's start and are awaited.
  Prepared PrepareComplete(const Stamp& stamp, uint64_t lease, std::vector<StagedBlock> blocks) const;
  Prepared PrepareAbandon(uint64_t lease) const;
  Prepared PrepareRenew(const Stamp& stamp, uint64_t lease) const;
  Prepared PrepareMkdir(const Stamp& stamp, const std::string& path) const;
  Prepared PrepareRemove(const std::string& path, bool recursive) const;
  Prepared PrepareRename(const Stamp& stamp, const std::string& from, const std::string& to) const;
  Prepared PrepareSetReplication(const std::string& path, uint32_t replication) const;
  // kRejected where the directory exists and is not empty and !overwrite (also for submit's check,
  // with no files); kCorrupted where a block is unknown or differs from its manifest.
  Prepared PrepareCommit(OutputCommitted request) const;

  // Pins the present versions of files, by FileInfo::id: the record is an InputsPinned. kNotFound where one is gone.
  Prepared PreparePin(const Stamp& stamp, std::vector<uint64_t> files) const;
  Prepared PrepareRelease(uint64_t pin) const;

  // Folds the record in. REQUIRES: a hard record came from Prepare against this very state.
  [[nodiscard]] std::vector<Effect> Apply(const Record& record);

  // Records that time makes due: LeaseEnded of expired leases, and Ticked.
  std::vector<Record> Due(Instant now) const;

  // Queries. List gives a directory's entries in order of their names, or the file itself.
  Result<FileInfo> Stat(const std::string& path) const;
  Result<std::vector<FileInfo>> List(const std::string& path) const;
  // The part of it behind the name `after` (empty: from the first) that takes about `bytes` in a message, at least one
  // entry.
  Result<ListedFiles> List(const std::string& path, const std::string& after, size_t bytes) const;
  // All files below a path (or the file itself), in order, without those under a name that begins
  // with '_' or '.'.
  Result<std::vector<FileInfo>> FilesUnder(const std::string& path) const;
  // Blocks that touch [offset, offset + length); length 0 = to the end. At most 8192 of them: where
  // info.bytes says that there is more, ask again from the last one's end. near: as PrepareAddBlock. turn: from 1 on,
  // where several readers of the same bytes should begin with different replicas, of those that are equally near.
  Result<LocatedFile> Locate(const std::string& path, uint64_t offset, uint64_t length, const std::string& near,
                             uint32_t turn = 0) const;
  // The same of a file by its id, also where its path leads to another one or to none and a pin keeps it.
  Result<LocatedFile> LocateFile(uint64_t file, uint64_t offset, uint64_t length, const std::string& near,
                                 uint32_t turn = 0) const;
  // All that were not released.
  std::vector<uint64_t> Pins() const;
  // The pipeline of a block that PrepareAddBlock placed.
  LocatedBlock Pipeline(const BlockAdded& added) const;
  // Where a block is now; nothing where it is unknown.
  std::optional<LocatedBlock> Find(BlockId block) const;

  // The block is known, and no worker that is there has a good replica of it.
  bool Unreadable(BlockId block) const;

  // At most max_troubles files are named. Files that were removed and that a job still reads do not count. Cost: walks
  // all files and blocks (about 1 us per block; guess).
  StoreHealth Health(size_t max_troubles) const;
  // The same in parts: goes on by about `most` files and blocks. True: the walk is at its end. Files that change
  // between two parts are counted as they were or as they are.
  bool AddHealth(HealthWalk* walk, size_t most, size_t max_troubles) const;

  bool in_safe_mode() const;
  // The id of the block that is given next.
  uint64_t NextBlock() const;
  // Of all blocks. Cost: a walk of all blocks.
  RepairCounts Counts() const;
  // Adds at most `most` blocks from *from on to *counts; *from becomes the block to go on with, not valid at the end.
  void AddCounts(BlockId* from, size_t most, RepairCounts* counts) const;
  uint64_t BlocksOn(WorkerId worker) const;
  // Bytes of blocks there; 0 for a worker that is not live.
  uint64_t UsedOn(WorkerId worker) const;
  // What keeps this worker, whether or not it is draining. Cost: a walk of the worker's blocks (about 1 us each;
  // guess).
  DrainBlocks DrainOf(WorkerId worker) const;
  const NamespaceConfig& config() const;

  // Digest of what the hard records made; equal after a replay. Digest() adds the soft state.
  uint64_t HardDigest() const;
  uint64_t Digest() const;

  // The hard state as bytes, for the master's snapshot; and back, into an empty namespace.
  std::string Snapshot() const;
  Status Restore(const std::string& bytes);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mr::dfs
