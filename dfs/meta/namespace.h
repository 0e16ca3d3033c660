// The metadata of the block store: files, directories, leases, blocks, locations of replicas, repairs. A deterministic
// function: the same records give the same effects and the same digests. It reads no clock, does no I/O and starts no
// thread; times are in the records.
//
// Use by a master. One thread owns it, the thread that owns the scheduler:
//
//   caller asks ->  auto record = ns.Prepare...(stamp, request)      const; all validation is here
//                   not ok: answer the status. nullopt: nothing to do, answer ok.
//                   journal.Append(Encode(*record))                  hard (IsHard) or soft
//                   auto effects = ns.Apply(*record)                 never fails, never validates
//                   after the record is durable: answer, and dispatch the effects.
//
//   Effects leave only after their record is durable: a delete before the removal of its
//   file is durable would lose data in a crash. (Effects of soft records may leave once every hard
//   record before them is durable; the journal's order ensures that.)
//
//   start        ns.Restore(snapshot); Apply each hard record of the journal's tail, ignoring the
//                effects; then Apply(MasterStarted{now, workers known before}). Safe mode until they
//                are back, or until config().safe_mode_wait.
//   registers    Apply(WorkerJoined{...WorkerInfo.blocks...}); a worker lost: Apply(WorkerGone).
//   blockReceived -> Apply(ReplicaDurable);  blockSuspect -> Apply(ReplicaSuspect).
//                With any record: PlacedBy before it and UnplacedBy after it, for the replicas that count.
//   each second  for (Record& r : ns.Due(now)) journal + Apply as above (expired leases, repairs).
//   job's commit ns.PrepareCommit(...) on the CommitJob decision; not ok fails the job. The record
//                goes inside the job's own journal record; Apply it there.
//   job's end    (failed, killed): ns.PrepareRemove("/.staging/<job>", recursive); kNotFound is fine.
//   planning     ns.FilesUnder(path) gives the files; ns.PreparePin(ids) keeps them until PrepareRelease at the
//                job's end; ns.LocateFile(id, ...) gives the places of their blocks.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/model/split.h"
#include "dfs/meta/drain.h"
#include "dfs/meta/record.h"

namespace mr::dfs {

struct NamespaceConfig {
  uint32_t replication = 3;
  uint64_t block_bytes = 64ull << 20;
  // GFS and HDFS use 60 s without a renewal.
  Duration lease_time = Seconds(60);
  // Time for a lost worker to return before its blocks are copied. HDFS waits 10 min to avoid storms of copies. On
  // clusters of our size a copy is cheap, and a restart takes 2 s (guess).
  Duration repair_delay = Seconds(15);
  // Time after which an unreported copy is requested again (64 MiB take 0.1 s here; guess).
  Duration repair_timeout = Seconds(60);
  // Pause of a block after its copies failed from every source and to every target, or three times (guess).
  Duration repair_retry = Seconds(15);
  // Longest safe mode. HDFS waits 30 s beyond its threshold.
  Duration safe_mode_wait = Seconds(30);
  // Copies that one worker sends at a time (HDFS: 2).
  uint32_t repairs_per_worker = 2;
  // Bytes of the files of one owner, without replicas; 0 = no limit. Callers that reach everybody's files have none.
  uint64_t owner_bytes = 0;
};

// Checks a path such as "/a/b": absolute, valid UTF-8, without control characters and without empty, '.' or '..'
// components; at most 255 bytes per component and 4096 in all. "/" itself is the root. Errors: the reason names the
// path.
Status CheckPath(const std::string& path);

struct FileInfo {
  uint64_t id = 0;  // of this version of the file; an overwrite gives a new id. 0 = unknown
  std::string path;
  bool is_directory = false;
  uint64_t bytes = 0;
  uint32_t replication = 0;
  uint64_t block_bytes = 0;
  uint32_t blocks = 0;
  uint32_t missing_blocks = 0;  // without any good replica now
  uint32_t least_replicas = 0;  // good, placed ones of the block that has the fewest; without blocks: the wanted number
  uint64_t modified_unix_ms = 0;
  std::string owner;         // by its own rule or an inherited one (rules.h)
  bool read_by_all = false;  // else by the owner only
};

// A part of a directory, sorted by name.
struct ListedFiles {
  std::vector<FileInfo> entries;
  bool more = false;  // more entries follow the last one
};

struct LocatedFile {
  FileInfo info;
  std::vector<LocatedBlock> blocks;
  std::string inline_data;  // content of a file without blocks
};

// A block of a file that no registered worker has, not even damaged.
struct MissingBlock {
  BlockId block;
  uint64_t offset = 0, length = 0;  // bytes of the file
};

struct RepairCounts {
  uint64_t blocks = 0;            // of visible files
  uint64_t missing = 0;           // of those: no good replica
  uint64_t under_replicated = 0;  // of those: fewer replicas than wanted (and possible)
  uint64_t copying = 0;           // copies that were requested and not yet reported
  uint64_t suspect = 0;           // quarantined replicas
};

// Faults of the blocks of visible files.
struct StoreHealth {
  struct Trouble {
    std::string path;
    uint32_t blocks = 0;
    uint32_t missing = 0;              // blocks without a replica on a live worker
    uint32_t corrupt = 0;              // blocks with only damaged replicas on live workers
    uint32_t under_replicated = 0;     // blocks with a good replica, but fewer than wanted (and possible)
    std::vector<std::string> damaged;  // workers with damaged replicas: "w2 (host:port)", each once
  };
  struct Disk {
    WorkerId worker;
    std::string address, why;
  };
  bool safe_mode = false;
  uint64_t files = 0, missing_files = 0, corrupt_files = 0, under_replicated_files = 0;
  std::vector<Trouble> troubles;  // missing files first, then corrupt, then under-replicated ones; limited
  std::vector<Disk> failed_disks;
  std::vector<WorkerId> awaited;  // alive before the master's start, and absent since
};

// The state of a walk over all files for their health, between two parts.
struct HealthWalk {
  uint64_t from = 0;                                          // id of the next file
  StoreHealth health;                                         // complete at the end of the walk
  std::array<std::vector<StoreHealth::Trouble>, 3> troubles;  // missing, corrupt, under-replicated
};

class Namespace {
 public:
  explicit Namespace(NamespaceConfig config);
  ~Namespace();
  Namespace(const Namespace&) = delete;
  Namespace& operator=(const Namespace&) = delete;

  using Prepared = Result<std::optional<Record>>;

  // The functions below check no rights: they are for requests of the master itself. Requests of others go through
  // CallerFiles (caller_files.h), which checks rights.
  //
  // Each Prepare function checks a request against the present state and returns its record, or nullopt if there is
  // nothing to do (a repeated request). replication and block_bytes: 0 = the default. A repeated request_id returns its
  // lease again.
  Prepared PrepareCreate(const Stamp& stamp, const std::string& path, bool overwrite, uint32_t replication,
                         uint64_t block_bytes, const std::string& request_id) const;
  // Returns the lease of this request_id, or 0. Requires: PrepareCreate, and Apply of its record.
  uint64_t LeaseOf(const std::string& request_id) const;
  // Returns the path that an open lease writes to, or "".
  std::string PathOfLease(uint64_t lease) const;
  // Adds a block to an open file. near: data server address of the writer's own worker, or "".
  Prepared PrepareAddBlock(const Stamp& stamp, uint64_t lease, uint32_t index, const std::string& near) const;
  // Completes the file of a lease. Errors: kUnavailable if a block is on fewer than max(1, min(2, R, K)) workers: write
  // that block again. K counts the workers that can take blocks, and those that were alive before the master's start
  // and are awaited.
  Prepared PrepareComplete(const Stamp& stamp, uint64_t lease, std::vector<StagedBlock> blocks) const;
  Prepared PrepareAbandon(uint64_t lease) const;
  Prepared PrepareRenew(const Stamp& stamp, uint64_t lease) const;
  Prepared PrepareMkdir(const Stamp& stamp, const std::string& path) const;
  Prepared PrepareRemove(const std::string& path, bool recursive) const;
  Prepared PrepareRename(const Stamp& stamp, const std::string& from, const std::string& to) const;
  Prepared PrepareSetReplication(const std::string& path, uint32_t replication) const;
  // Changes the path's own rule. Errors: kNotFound.
  Prepared PrepareRule(const std::string& path, const std::function<void(Rule*)>& change) const;
  // Commits the output of a job. Also called without files, for the check of a submit. Errors: kRejected if the
  // directory exists, is not empty and !overwrite; kCorrupted if a block is unknown or differs from its manifest.
  Prepared PrepareCommit(OutputCommitted request) const;

  // Returns an InputsPinned that pins the present versions of files, by FileInfo::id. Errors: kNotFound if one is gone.
  Prepared PreparePin(const Stamp& stamp, std::vector<uint64_t> files) const;
  Prepared PrepareRelease(uint64_t pin) const;

  // Applies the record. Requires: a hard record came from Prepare against this very state.
  [[nodiscard]] std::vector<Effect> Apply(const Record& record);

  // Placed replicas (adr/0004). PlacedBy returns the records to journal and apply before this one: they note replicas
  // that it reports and that the master ordered. UnplacedBy returns the records to journal and apply after a record
  // with these effects, and before the effects leave: they note replicas that are deleted.
  std::vector<Record> PlacedBy(const Record& report) const;
  std::vector<Record> UnplacedBy(const std::vector<Effect>& effects) const;

  // Returns the records that are due by now: LeaseEnded of expired leases, and Ticked.
  std::vector<Record> Due(Instant now) const;

  // Queries. List returns a directory's entries sorted by name, or the file itself.
  Result<FileInfo> Stat(const std::string& path) const;
  Result<std::vector<FileInfo>> List(const std::string& path) const;
  // Returns the entries after the name `after` (empty: from the first) that take about `bytes` in a message, at least
  // one.
  Result<ListedFiles> List(const std::string& path, const std::string& after, size_t bytes) const;
  // Returns all files below a path (or the file itself), in order. Skips files and whole directories below the path if
  // their name begins with '_' or '.'.
  Result<std::vector<FileInfo>> FilesUnder(const std::string& path) const;
  // Returns the blocks that touch [offset, offset + length); length 0 = to the end. At most 8192 blocks: if info.bytes
  // shows that there are more, call again from the last one's end. near: as for PrepareAddBlock. turn: from 1 on, makes
  // several readers of the same bytes start with different replicas among those that are equally near.
  Result<LocatedFile> Locate(const std::string& path, uint64_t offset, uint64_t length, const std::string& near,
                             uint32_t turn = 0) const;
  // The same for a file by its id, even if its path leads elsewhere and only a pin keeps it.
  Result<LocatedFile> LocateFile(uint64_t file, uint64_t offset, uint64_t length, const std::string& near,
                                 uint32_t turn = 0) const;
  // Returns all pins that were not released.
  std::vector<uint64_t> Pins() const;
  // Returns the pipeline of a block that PrepareAddBlock placed.
  LocatedBlock Pipeline(const BlockAdded& added) const;
  // Returns the present locations of a block, or nothing if it is unknown.
  std::optional<LocatedBlock> Find(BlockId block) const;

  // Returns the file's blocks that no registered worker has, by rising offset; none if there is no such file. Cost: the
  // file's blocks.
  std::vector<MissingBlock> MissingIn(uint64_t file) const;

  // Returns whether the block is known and no registered worker has a good, placed replica.
  bool Unreadable(BlockId block) const;

  // Names at most max_troubles files. Removed files that a job still reads do not count. Cost: walks all files and
  // blocks (about 1 us per block; guess).
  StoreHealth Health(size_t max_troubles) const;
  // Like Health, but in parts of about `most` files and blocks. Returns true at the end of the walk. Files that change
  // between two parts are counted before or after the change. names: the paths that may be named; null = all.
  using NamesFn = std::function<bool(const std::string& path)>;
  bool AddHealth(HealthWalk* walk, size_t most, size_t max_troubles, const NamesFn& names = nullptr) const;

  bool in_safe_mode() const;
  // Returns the id of the next block.
  uint64_t NextBlock() const;
  // Counts all blocks. Cost: a walk of all blocks.
  RepairCounts Counts() const;
  // Adds at most `most` blocks from *from on to *counts. *from becomes the next block, not valid at the end.
  void AddCounts(BlockId* from, size_t most, RepairCounts* counts) const;
  uint64_t BlocksOn(WorkerId worker) const;
  // Returns the bytes of blocks on a worker, or 0 for one that is not live.
  uint64_t UsedOn(WorkerId worker) const;
  // Returns what keeps this worker from being stopped, whether it is draining or not. Cost: a walk of the worker's
  // blocks (about 1 us each; guess).
  DrainBlocks DrainOf(WorkerId worker) const;
  // Returns the blocks that nobody can read now and that this worker may have. Cost: a walk over all blocks.
  LastReplicas LastReplicasOn(WorkerId worker) const;
  // Returns the bytes of the files that belong to this subject, without replicas.
  uint64_t BytesOfOwner(const std::string& owner) const;
  const NamespaceConfig& config() const;

  // Returns a digest of the hard state, which is equal after a replay. Digest() adds the soft state.
  uint64_t HardDigest() const;
  uint64_t Digest() const;

  // Snapshot returns the hard state as bytes, for the master's snapshot. Restore reads it into an empty namespace.
  std::string Snapshot() const;
  Status Restore(const std::string& bytes);

 private:
  friend class CallerFiles;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mr::dfs
