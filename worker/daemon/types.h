// The messages between the master and a worker as plain structs, in the terms of control.capnp. wire.h converts them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/io/file_version.h"
#include "worker/daemon/attempt.h"
#include "worker/daemon/directory.h"
#include "worker/host/task_host.h"
#include "worker/shuffle/store.h"

namespace mr::worker {

struct WorkerRef {
  WorkerId id;
  Incarnation incarnation = 0;
};

// A replica of an output, as the master names it.
struct ReplicaName {
  OutputId output;
  uint32_t attempt = 0;
  WorkerRef worker;
};

inline ReplicaName NameOf(const ReplicaLocation& replica) {
  return {replica.output, replica.attempt, {replica.worker, replica.incarnation}};
}

struct BlockName {
  BlockId id;
  uint32_t generation = 0;
  uint64_t length = 0, digest = 0;
};

// A damaged replica of a block on this worker. aside: a good replica has taken its place.
struct DamagedBlock {
  BlockName block;
  bool aside = false;
};

struct StageInput {
  bool is_edge = false;
  uint32_t upstream = 0;  // of an edge
  bool grouped = false, broadcast = false;
  bool quotes = false;        // quote states of the stage's csv files, for the host
  std::string format;         // of files, or of an edge that is read as files (job.capnp)
  std::string written, file;  // of an edge that is read as files
  uint64_t sample_bytes = 0;
};

// A file that a job brings beside its library: its name, and the SHA-256 of its bytes.
struct SideFile {
  std::string name, sha256;
};

// The data that all tasks of a stage share.
struct StageInfo {
  StageId id;
  std::string library;  // SHA-256; empty: the built-in one
  std::string name, operator_name, config;
  uint32_t operator_flags = 0;
  uint32_t tasks = 0;
  std::vector<StageInput> inputs;
  std::vector<OutputPort> ports;
  std::vector<std::pair<std::string, std::string>> env;
  uint64_t memory_bytes = 0, sort_buffer_bytes = 0, partition_seed = 0;
  std::string staging_uri;  // of a final stage
  std::string job_name;
  std::vector<SideFile> files;
  uint64_t max_bad_records = 0;  // for the whole job
  Duration task_timeout;         // without progress; 0 = none
  bool strict_inputs = false;    // a local input that grew fails the attempt

  // Returns the letter in names of tasks and parts: kMap if any input is files, or if there is none.
  TaskLetter letter() const;
  // Returns whether its ports are files: either all are, or none is.
  bool writes_files() const { return !ports.empty() && ports[0].files; }
  uint32_t partitions() const;  // over all ports
};

struct SplitBlock {
  BlockName block;
  uint64_t offset = 0;  // in the file
  std::vector<std::string> addresses;
  std::vector<std::string> damaged;  // names of replicas that are not read, for people
};

struct Split {
  uint32_t input = 0;
  std::string uri;
  uint64_t offset = 0, length = 0, file_bytes = 0;
  std::vector<SplitBlock> blocks;  // of dfs files
  uint64_t file = 0;               // of dfs files: id of the version to read; 0 = not known
  // For local files: the planned version, without its length. An inode of 0 = not known.
  FileVersion planned;
  uint64_t view = 0;  // FileView() of the planner
};

struct Slice {
  uint32_t input = 0;
  uint32_t partition_begin = 0, partition_end = 0;
  uint32_t task_begin = 0, task_end = 0;
};

struct Launch {
  AttemptId attempt;
  uint32_t generation = 0;
  std::vector<Split> splits;
  std::vector<Slice> slices;
  bool by_bind = false;  // reads only replicas that a Bind names
};

struct Kill {
  AttemptId attempt;
};
struct TakeBack {
  AttemptId attempt;
};
struct Bind {
  AttemptId reader;
  ReplicaPtr replica;
};
struct DropReplica {
  ReplicaName replica;
};
struct EndJob {
  JobId job;
};
struct DeleteBlock {
  BlockName block;
};
struct ReplicateBlock {
  BlockName block;
  std::string to_address;
};
struct EmptyQuarantine {
  BlockName block;
};
struct Drain {
  bool on = false;
};
struct ReplicateOutput {
  ReplicaPtr from;
};

using Command = std::variant<Launch, Kill, TakeBack, StageInfo, DirectoryDelta, Bind, DropReplica, EndJob, DeleteBlock,
                             ReplicateBlock, Drain, ReplicateOutput, EmptyQuarantine>;

// One message of the master. Verdicts are keyed by the numbers of reports.
struct CommandBatch {
  uint32_t master_epoch = 0;
  uint64_t sequence = 0;  // starts at 1 after a registration, without gaps
  std::vector<std::pair<uint64_t, Verdict>> verdicts;
  std::vector<Command> commands;
};

struct StagedBlock {
  BlockName block;
  std::vector<uint32_t> workers;
};

struct FileOutput {
  std::string name;    // part-r-00000
  std::string staged;  // file://: path of the private file
  uint64_t bytes = 0, records = 0;
  Digest128 content;
  std::vector<StagedBlock> blocks;
};

struct Manifest {
  uint64_t records = 0, bytes = 0;
  Digest128 content;
  std::vector<PartitionRow> table;  // for up to kInlineRows partitions
  std::vector<uint32_t> kib;        // for more, up to kSizedRows: KiB of each partition, rounded up
  uint32_t partitions = 0;
  std::vector<FileOutput> outputs;
};
// Most rows in a report. Readers fetch larger tables from the replica.
inline constexpr size_t kInlineRows = 64;
// Most partition sizes in a report (guess: they take 4 KiB). A stage that gets its tasks by bytes has at most 1,000.
inline constexpr size_t kSizedRows = 1024;

struct Started {};
struct Finished {
  Manifest manifest;
  std::vector<Consumed> consumed;
  Duration ran, waited;
  std::vector<TaskResult::Counter> counters;
  std::vector<std::string> bad_records;  // messages about the first few skipped records
  std::vector<HotKey> hot_keys;
  std::vector<std::string> grown;  // URIs of local inputs that are longer than planned
};
struct Failed {
  FailureKind kind = FailureKind::kUser;
  std::string message, record, stderr_tail;
};
struct Refused {
  std::string why;
};
struct Killed {};
struct FetchFailed {
  ReplicaName replica;
  std::string why;
  bool unreachable = false;
};
struct FetchDone {
  ReplicaName replica;
  uint64_t bytes = 0;
  Duration took;
  uint32_t readers = 0;
};
struct ReplicaMade {
  ReplicaName replica;
};
struct ReplicaNotMade {
  ReplicaName from;
  std::string why;
  bool here = false;  // the cause is on this worker: the source is not in doubt
};

struct Report {
  AttemptId attempt;  // for a replica: the attempt that made the output
  std::variant<Started, Finished, Failed, Refused, Killed, FetchFailed, FetchDone, ReplicaMade, ReplicaNotMade> what;
};

struct ProgressFrame {
  AttemptId attempt;
  TaskProgress progress;
  bool inputs_done = false;
};

}  // namespace mr::worker
