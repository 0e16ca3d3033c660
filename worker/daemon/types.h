// What the master and a worker tell each other, as plain structs: wire.h makes them from Cap'n
// Proto messages and back. In the words of control.capnp.
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

// A copy as the master names it.
struct CopyName {
  OutputId output;
  uint32_t attempt = 0;
  WorkerRef worker;
};

inline CopyName NameOf(const CopyLocation& copy) {
  return {copy.output, copy.attempt, {copy.worker, copy.incarnation}};
}

struct BlockName {
  BlockId id;
  uint32_t generation = 0;
  uint64_t length = 0, digest = 0;
};

// A replica here that is damaged, or whose place a good one has taken (aside).
struct DamagedBlock {
  BlockName block;
  bool aside = false;
};

struct StageInput {
  bool is_edge = false;
  uint32_t upstream = 0;  // of an edge
  bool grouped = false, broadcast = false;
  bool quotes = false;        // of the csv files of the stage, for the host
  std::string format;         // of files, and of an edge that is read as such (job.capnp)
  std::string written, file;  // of such an edge
  uint64_t sample_bytes = 0;
};

// What a job brings beside its library: bytes by their SHA-256, under a name.
struct SideFile {
  std::string name, sha256;
};

// What all tasks of a stage have in common.
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
  uint64_t max_bad_records = 0;  // of the whole job
  Duration task_timeout;         // without progress; 0 = none
  bool strict_inputs = false;    // a local input that grew fails the attempt

  // As in the names of tasks and parts: 'm' where any input is files.
  TaskLetter letter() const;
  // All of its ports are files, or none is.
  bool writes_files() const { return !ports.empty() && ports[0].files; }
  uint32_t partitions() const;  // over all ports
};

struct SplitBlock {
  BlockName block;
  uint64_t offset = 0;  // in the file
  std::vector<std::string> addresses;
  std::vector<std::string> damaged;  // replicas that are not read, for people
};

struct Split {
  uint32_t input = 0;
  std::string uri;
  uint64_t offset = 0, length = 0, file_bytes = 0;
  std::vector<SplitBlock> blocks;  // of dfs files
  uint64_t file = 0;               // of dfs files: id of the version to read; 0 = not known
  // Of local files: the version that was planned, without its length; an inode of 0 = not known.
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
  bool by_bind = false;  // reads the copies that Bind names, and no others
};

struct Kill {
  AttemptId attempt;
};
struct TakeBack {
  AttemptId attempt;
};
struct Bind {
  AttemptId reader;
  CopyPtr copy;
};
struct DropCopy {
  CopyName copy;
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
struct ReplicateCopy {
  CopyPtr from;
};

using Command = std::variant<Launch, Kill, TakeBack, StageInfo, DirectoryDelta, Bind, DropCopy, EndJob, DeleteBlock,
                             ReplicateBlock, Drain, ReplicateCopy, EmptyQuarantine>;

// What the master says at one time; verdicts are by the reports' numbers.
struct CommandBatch {
  uint32_t master_epoch = 0;
  uint64_t sequence = 0;  // 1 is the first after a registration; without a gap
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
  std::vector<PartitionRow> table;  // of up to kInlineRows partitions
  std::vector<uint32_t> kib;        // of more, up to kSizedRows: bytes of each, rounded up
  uint32_t partitions = 0;
  std::vector<FileOutput> outputs;
};
// Larger tables are fetched from the copy by those who need them.
inline constexpr size_t kInlineRows = 64;
// So many sizes go with the report (guess: 4 KiB of it); a stage that asks for tasks by bytes has at most 1,000.
inline constexpr size_t kSizedRows = 1024;

struct Started {};
struct Finished {
  Manifest manifest;
  std::vector<Consumed> consumed;
  Duration ran, waited;
  std::vector<TaskResult::Counter> counters;
  std::vector<std::string> bad_records;  // the first few that were skipped, in words
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
  CopyName copy;
  std::string why;
  bool unreachable = false;
};
struct FetchDone {
  CopyName copy;
  uint64_t bytes = 0;
  Duration took;
  uint32_t readers = 0;
};
struct CopyMade {
  CopyName copy;
};
struct CopyNotMade {
  CopyName from;
  std::string why;
  bool here = false;  // for what is this worker's own: the source is in no doubt
};

struct Report {
  AttemptId attempt;  // of a copy: the one whose output it is
  std::variant<Started, Finished, Failed, Refused, Killed, FetchFailed, FetchDone, CopyMade, CopyNotMade> what;
};

struct ProgressFrame {
  AttemptId attempt;
  TaskProgress progress;
  bool inputs_done = false;
};

}  // namespace mr::worker
