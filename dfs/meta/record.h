// All events of the block store's metadata: records go in, effects come out.
//
// Records come from the Prepare functions of the namespace, or from workers' reports. Each is appended to the master's
// journal and then given to Namespace::Apply. Hard records hold promises to callers: they are synced before the answer
// is sent, and replayed after a restart. Soft records hold locations of replicas. Block reports restore these, so soft
// records need no sync and are not replayed. All are plain values; each struct lists its fields once
// (common/base/fields.h). New alternatives and new fields are added at the end only.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/base/fields.h"
#include "common/base/ids.h"
#include "common/base/time.h"
#include "common/model/block.h"
#include "common/model/caller.h"
#include "dfs/meta/rules.h"

namespace mr::dfs {

// The time of an event: `at` in the master's monotonic time; unix_ms is for people only.
struct Stamp {
  Instant at;
  uint64_t unix_ms = 0;
  template <class V>
  static void Fields(V&& v) {
    v(&Stamp::at, &Stamp::unix_ms);
  }
};

// ---- Hard records -------------------------------------------------------------------------------

// A writer gets `lease` on a file that stays invisible until FileCompleted.
struct FileCreated {
  Stamp stamp;
  uint64_t lease = 0;
  std::string path;
  bool overwrite = false;
  uint32_t replication = 0;
  uint64_t block_bytes = 0;
  std::string request_id;
  std::string owner = kNoOwner;  // the subject of the writer; behind the record, older releases did not write it
  template <class V>
  static void Fields(V&& v) {
    using T = FileCreated;
    v(&T::stamp, &T::lease, &T::path, &T::overwrite, &T::replication, &T::block_bytes, &T::request_id);
  }
};

// A new block of an open file, to be written to `targets` in this order. An earlier block with the same index is
// abandoned.
struct BlockAdded {
  Stamp stamp;
  uint64_t lease = 0;
  uint32_t index = 0;
  BlockId block;
  std::vector<WorkerId> targets;
  std::vector<WorkerId> avoid;  // failed in an earlier pipeline of this index
  template <class V>
  static void Fields(V&& v) {
    using T = BlockAdded;
    v(&T::stamp, &T::lease, &T::index, &T::block, &T::targets, &T::avoid);
  }
};

// The file becomes visible under the lease's path; missing directories are made.
struct FileCompleted {
  Stamp stamp;
  uint64_t lease = 0;
  std::vector<StagedBlock> blocks;
  template <class V>
  static void Fields(V&& v) {
    v(&FileCompleted::stamp, &FileCompleted::lease, &FileCompleted::blocks);
  }
};

// The open file is abandoned, by its writer or because its lease expired.
struct LeaseEnded {
  uint64_t lease = 0;
  bool expired = false;
  template <class V>
  static void Fields(V&& v) {
    v(&LeaseEnded::lease, &LeaseEnded::expired);
  }
};

struct DirectoryMade {
  Stamp stamp;
  std::string path;
  template <class V>
  static void Fields(V&& v) {
    v(&DirectoryMade::stamp, &DirectoryMade::path);
  }
};

// A file, or a directory with its content, is removed.
struct Removed {
  std::string path;
  template <class V>
  static void Fields(V&& v) {
    v(&Removed::path);
  }
};

struct Renamed {
  Stamp stamp;
  std::string from, to;
  template <class V>
  static void Fields(V&& v) {
    v(&Renamed::stamp, &Renamed::from, &Renamed::to);
  }
};

struct ReplicationSet {
  std::string path;
  uint32_t replication = 0;
  template <class V>
  static void Fields(V&& v) {
    v(&ReplicationSet::path, &ReplicationSet::replication);
  }
};

// One file of a job's output. Its blocks leave the staging file in which they were written. inline_data: content kept
// in the namespace itself, for a file without blocks (_SUCCESS).
struct OutputFile {
  std::string name;
  std::vector<BlockRef> blocks;
  std::string inline_data;
  template <class V>
  static void Fields(V&& v) {
    v(&OutputFile::name, &OutputFile::blocks, &OutputFile::inline_data);
  }
};

// All files of a job become visible in `directory` at once, and its staging directory is removed. Part of the master's
// record that makes the job succeed.
struct OutputCommitted {
  Stamp stamp;
  std::string directory;
  bool overwrite = false;    // existing files are removed in the same step
  std::string staging;       // "/.staging/<job>", removed with the files that losers left there; "" = none
  uint32_t replication = 0;  // 0 = the default
  std::vector<OutputFile> files;
  template <class V>
  static void Fields(V&& v) {
    using T = OutputCommitted;
    v(&T::stamp, &T::directory, &T::overwrite, &T::staging, &T::replication, &T::files);
  }
};

// A job pins these files before it is planned, by the ids of FileInfo. Their blocks stay until InputsReleased, even if
// the files are removed, renamed or overwritten.
struct InputsPinned {
  Stamp stamp;
  uint64_t pin = 0;  // from 1, never reused
  std::vector<uint64_t> files;
  template <class V>
  static void Fields(V&& v) {
    v(&InputsPinned::stamp, &InputsPinned::pin, &InputsPinned::files);
  }
};

// The job has ended, or was not accepted.
struct InputsReleased {
  uint64_t pin = 0;
  template <class V>
  static void Fields(V&& v) {
    v(&InputsReleased::pin);
  }
};

// ---- Soft records -------------------------------------------------------------------------------

// A master process took over. The locations of replicas are unknown, safe mode begins, and open leases start again.
// expected: workers that were alive when the last master stopped; safe mode waits for them. awaited: absent workers
// that still count toward the replicas of an acknowledgement (State::MinDurable). These are the expected workers that
// are not draining, and those that did not come back to an earlier master.
struct MasterStarted {
  Instant at;
  std::vector<WorkerId> expected;
  std::vector<WorkerId> awaited;
  template <class V>
  static void Fields(V&& v) {
    v(&MasterStarted::at, &MasterStarted::expected, &MasterStarted::awaited);
  }
};

// A worker registered, with its full block report. A new incarnation replaces the old one.
struct WorkerJoined {
  Instant at;
  WorkerId worker;
  Incarnation incarnation = 0;
  std::string address;  // of its data server
  std::string rack;
  uint64_t capacity_bytes = 0;  // 0 = unknown
  uint64_t used_bytes = 0;
  std::vector<BlockRef> blocks;
  bool draining = false;  // at registration: see WorkerDrained
  template <class V>
  static void Fields(V&& v) {
    using T = WorkerJoined;
    v(&T::at, &T::worker, &T::incarnation, &T::address, &T::rack, &T::capacity_bytes, &T::used_bytes, &T::blocks,
      &T::draining);
  }
};

struct WorkerGone {
  Instant at;
  WorkerId worker;
  Incarnation incarnation = 0;
  template <class V>
  static void Fields(V&& v) {
    v(&WorkerGone::at, &WorkerGone::worker, &WorkerGone::incarnation);
  }
};

// The worker is draining: its replicas can be read and copied from, but do not count toward the target.
struct WorkerDrained {
  Instant at;
  WorkerId worker;
  bool on = true;
  template <class V>
  static void Fields(V&& v) {
    v(&WorkerDrained::at, &WorkerDrained::worker, &WorkerDrained::on);
  }
};

// A worker reports that it has this block on disk (MasterForWorker.blockReceived).
struct ReplicaDurable {
  Instant at;
  WorkerId worker;
  Incarnation incarnation = 0;
  BlockRef block;
  template <class V>
  static void Fields(V&& v) {
    using T = ReplicaDurable;
    v(&T::at, &T::worker, &T::incarnation, &T::block);
  }
};

// A replica failed verification or could not be read. It does not count, and is deleted only once as many good replicas
// as the file asks for are known. aside: a good replica replaced it on this worker, and the damaged bytes are in the
// worker's quarantine.
struct ReplicaSuspect {
  Instant at;
  WorkerId worker;
  Incarnation incarnation = 0;
  BlockId block;
  uint32_t generation = 1;
  uint64_t length = 0;  // 0 = unknown
  bool aside = false;
  template <class V>
  static void Fields(V&& v) {
    using T = ReplicaSuspect;
    v(&T::at, &T::worker, &T::incarnation, &T::block, &T::generation, &T::length, &T::aside);
  }
};

struct LeaseRenewed {
  Instant at;
  uint64_t lease = 0;
  template <class V>
  static void Fields(V&& v) {
    v(&LeaseRenewed::at, &LeaseRenewed::lease);
  }
};

// Time passed: repairs that wait or are overdue are examined again, and safe mode may end.
struct Ticked {
  Instant at;
  template <class V>
  static void Fields(V&& v) {
    v(&Ticked::at);
  }
};

// A copy that `worker` had to make (ReplicateBlock) failed. source_failed: its own replica could not be read; else `to`
// could not be reached or refused the block.
struct ReplicaNotCopied {
  Instant at;
  WorkerId worker;
  Incarnation incarnation = 0;
  BlockId block;
  uint32_t generation = 1;
  bool source_failed = false;
  template <class V>
  static void Fields(V&& v) {
    using T = ReplicaNotCopied;
    v(&T::at, &T::worker, &T::incarnation, &T::block, &T::generation, &T::source_failed);
  }
};

// An operator drained or excluded an absent worker: acknowledgements no longer wait for it.
struct WorkerGivenUp {
  Instant at;
  WorkerId worker;
  template <class V>
  static void Fields(V&& v) {
    v(&WorkerGivenUp::at, &WorkerGivenUp::worker);
  }
};

// The worker's disk failed (why: the reason, for people) or works again (empty). While it fails, its replicas can be
// read but count as lost, and nothing is written there.
struct DiskFailed {
  Instant at;
  WorkerId worker;
  Incarnation incarnation = 0;
  std::string why;
  template <class V>
  static void Fields(V&& v) {
    using T = DiskFailed;
    v(&T::at, &T::worker, &T::incarnation, &T::why);
  }
};

// Lost records of the journal were given up. New ids begin here, above all ids that the lost records may have assigned.
// Replicas with ids between this journal's and next_block are not garbage, because a lost record may have assigned the
// id: they stay.
struct IdsRaised {
  uint64_t next_block = 0, next_lease = 0;
  template <class V>
  static void Fields(V&& v) {
    v(&IdsRaised::next_block, &IdsRaised::next_lease);
  }
};

// Lost records may have assigned block ids in [begin, end) that this journal has assigned, too. A replica with such an
// id that is not this journal's block is not garbage: it stays.
struct IdsInDoubt {
  uint64_t begin = 0, end = 0;
  template <class V>
  static void Fields(V&& v) {
    v(&IdsInDoubt::begin, &IdsInDoubt::end);
  }
};

// Safe mode that only an operator ends, since records of the journal are lost. Soft: repeated by each start until then.
struct SafeModeHeld {
  Instant at;
  bool on = true;
  template <class V>
  static void Fields(V&& v) {
    v(&SafeModeHeld::at, &SafeModeHeld::on);
  }
};

// The space of a worker, and whether its disk has less free space than it must keep. A full worker gets no new
// replicas. Soft: repeated after each registration of a full worker.
struct WorkerRoom {
  Instant at;
  WorkerId worker;
  Incarnation incarnation = 0;
  uint64_t capacity_bytes = 0;  // free space, and space used by blocks
  bool full = false;
  template <class V>
  static void Fields(V&& v) {
    using T = WorkerRoom;
    v(&T::at, &T::worker, &T::incarnation, &T::capacity_bytes, &T::full);
  }
};

// A file or directory has this rule from now on. An empty one: it inherits again.
struct RuleSet {
  std::string path;
  Rule rule;
  template <class V>
  static void Fields(V&& v) {
    v(&RuleSet::path, &RuleSet::rule);
  }
};

// The workers on which the master ordered a replica of this block, in place of those noted before. Their replicas count
// (adr/0004). Recorded when a copy that the master ordered has arrived, and when it deletes one. A hard record that
// needs no sync of its own.
struct ReplicasPlaced {
  BlockId block;
  std::vector<WorkerId> workers;
  template <class V>
  static void Fields(V&& v) {
    v(&ReplicasPlaced::block, &ReplicasPlaced::workers);
  }
};

// An operator removed a worker that is gone for good: nothing notes its replicas any more. Hard.
struct WorkerForgotten {
  Instant at;
  WorkerId worker;
  template <class V>
  static void Fields(V&& v) {
    v(&WorkerForgotten::at, &WorkerForgotten::worker);
  }
};

// Any record. The order of alternatives is the journal's encoding.
using Record = std::variant<FileCreated, BlockAdded, FileCompleted, LeaseEnded, DirectoryMade, Removed, Renamed,
                            ReplicationSet, OutputCommitted, MasterStarted, WorkerJoined, WorkerGone, WorkerDrained,
                            ReplicaDurable, ReplicaSuspect, LeaseRenewed, Ticked, ReplicaNotCopied, WorkerGivenUp,
                            DiskFailed, IdsRaised, InputsPinned, InputsReleased, IdsInDoubt, SafeModeHeld, WorkerRoom,
                            RuleSet, ReplicasPlaced, WorkerForgotten>;

// Convert a record to and from its form in the journal.
std::string Encode(const Record& record);
bool Decode(std::string_view bytes, Record* record);

// Hard records: the first nine alternatives, raised ids, ids in doubt, pins, rules, placed replicas, and forgotten
// workers.
bool IsHard(const Record& record);

// ---- Effects: commands for workers --------------------------------------------------------------

// `from` reads its replica and writes it to `to`.
struct ReplicateBlock {
  WorkerId from;
  Incarnation from_incarnation = 0;
  WorkerId to;
  std::string to_address;
  BlockRef block;
  template <class V>
  static void Fields(V&& v) {
    using T = ReplicateBlock;
    v(&T::from, &T::from_incarnation, &T::to, &T::to_address, &T::block);
  }
};

// The worker deletes its replica if id and generation match. A lost command is harmless: the next block report shows
// the replica again.
struct DeleteReplica {
  WorkerId worker;
  Incarnation incarnation = 0;
  BlockRef block;
  template <class V>
  static void Fields(V&& v) {
    v(&DeleteReplica::worker, &DeleteReplica::incarnation, &DeleteReplica::block);
  }
};

// The worker removes the damaged bytes of this block from its quarantine; its good replica stays. A lost command is
// harmless: the worker lists its quarantine after each registration.
struct EmptyQuarantine {
  WorkerId worker;
  Incarnation incarnation = 0;
  BlockRef block;
  template <class V>
  static void Fields(V&& v) {
    v(&EmptyQuarantine::worker, &EmptyQuarantine::incarnation, &EmptyQuarantine::block);
  }
};

using Effect = std::variant<ReplicateBlock, DeleteReplica, EmptyQuarantine>;

}  // namespace mr::dfs
