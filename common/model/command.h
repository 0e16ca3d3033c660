// Commands of the master to a worker. control.capnp has their wire form (common/rpc/control_wire.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "common/base/ids.h"
#include "common/model/attempt.h"
#include "common/model/block.h"
#include "common/model/output.h"
#include "common/model/split.h"
#include "common/model/stage_info.h"

namespace mr {

// Starts an attempt. The worker knows its stage from an earlier command.
struct LaunchCommand {
  AttemptId attempt;
  uint32_t generation = 0;  // of the output that it makes
  std::vector<SplitToRead> splits;
  std::vector<Slice> slices;
  bool by_bind = false;  // it reads only replicas that a Bind names
  bool operator==(const LaunchCommand&) const = default;
};

// Shared by the commands to many workers, and by the attempts that read it.
using ReplicaPtr = std::shared_ptr<const ReplicaLocation>;

// Changes of the places where the outputs of one stage can be read. The first delta of a stage is complete up to its
// version; later ones come in order.
struct DirectoryDelta {
  StageId stage;
  uint64_t version = 0;
  std::vector<ReplicaPtr> added;
  std::vector<Replica> removed;
};

namespace command {

// A kind that only a later release knows.
struct Unknown {};
struct Kill {
  AttemptId attempt;
};
// Ends an attempt that waits for inputs. This is not a failure.
struct TakeBack {
  AttemptId attempt;
};
// The attempt reads the output from this replica.
struct Bind {
  AttemptId reader;
  uint32_t stage = 0;  // of the replica's output
  ReplicaPtr replica;
};
struct DropReplica {
  Replica replica;
};
// Nothing of the job is needed any more.
struct EndJob {
  JobId job;
};
struct DeleteBlock {
  BlockRef block;
};
struct ReplicateBlock {
  BlockRef block;
  std::string to_address;  // host:port of a data server
  WorkerId to;             // with that data server; not sent
  std::string grant;       // to write the block there; may be empty
};
// Deletes the damaged bytes of a block.
struct EmptyQuarantine {
  BlockRef block;
};
struct Drain {
  bool on = false;
};
// Makes a replica of the output on the worker that gets this.
struct ReplicateOutput {
  StageId stage;  // of the output
  ReplicaPtr from;
};

}  // namespace command

using Command =
    std::variant<command::Unknown, LaunchCommand, command::Kill, command::TakeBack, StageInfo, DirectoryDelta,
                 command::Bind, command::DropReplica, command::EndJob, command::DeleteBlock, command::ReplicateBlock,
                 command::Drain, command::ReplicateOutput, command::EmptyQuarantine>;

// The verdict on a report. report: the worker's number of it.
struct Answer {
  uint64_t report = 0;
  Verdict verdict = Verdict::kNoted;
  bool operator==(const Answer&) const = default;
};

// One message of the master to a worker. The answers apply before the commands.
struct CommandBatch {
  uint32_t master_epoch = 0;
  uint64_t sequence = 0;  // starts at 1 after a registration, without gaps
  std::vector<Answer> answers;
  std::vector<Command> commands;
};

}  // namespace mr
