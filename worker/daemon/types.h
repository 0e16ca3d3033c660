// The messages between the master and a worker as plain structs, in the terms of control.capnp. wire.h converts them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/model/launch.h"
#include "common/model/report.h"
#include "worker/daemon/attempt.h"
#include "worker/daemon/directory.h"
#include "worker/host/task_host.h"
#include "worker/shuffle/store.h"

namespace mr::worker {

struct WorkerRef {
  WorkerId id;
  Incarnation incarnation = 0;
};

inline Replica NameOf(const ReplicaLocation& replica) {
  return {replica.output, replica.attempt, replica.worker, replica.incarnation};
}

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
  Replica replica;
};
struct EndJob {
  JobId job;
};
struct DeleteBlock {
  BlockRef block;
};
struct ReplicateBlock {
  BlockRef block;
  std::string to_address;
};
struct EmptyQuarantine {
  BlockRef block;
};
struct Drain {
  bool on = false;
};
struct ReplicateOutput {
  ReplicaPtr from;
};

using Command = std::variant<LaunchCommand, Kill, TakeBack, StageInfo, DirectoryDelta, Bind, DropReplica, EndJob,
                             DeleteBlock, ReplicateBlock, Drain, ReplicateOutput, EmptyQuarantine>;

// One message of the master. Verdicts are keyed by the numbers of reports.
struct CommandBatch {
  uint32_t master_epoch = 0;
  uint64_t sequence = 0;  // starts at 1 after a registration, without gaps
  std::vector<std::pair<uint64_t, Verdict>> verdicts;
  std::vector<Command> commands;
};

struct ProgressFrame {
  AttemptId attempt;
  TaskProgress progress;
  bool inputs_done = false;
};

}  // namespace mr::worker
