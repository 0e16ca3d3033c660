// The messages about stages that many workers get: a stage's StageInfo, and the directory of its outputs. Each is
// encoded once, for all workers. A worker with a directory also gets its later changes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "common/model/command.h"
#include "master/core/master_core.h"
#include "master/host/driver.h"
#include "master/host/granter.h"
#include "master/host/outlets.h"

namespace mr::master {

// Thread: the master's.
class StageMessages {
 public:
  // granter: null where outputs need no grants.
  StageMessages(Driver& driver, uint64_t cluster_id, std::shared_ptr<const Granter> granter);

  // Returns the command with the stage's StageInfo.
  Message Info(const JobView& job, uint32_t stage);
  // Notes that tasks of the stage `reader` read outputs of `upstream`.
  void NoteReader(const JobView& job, uint32_t reader, uint32_t upstream);
  // Returns the commands with the stage's directory, in order, for a worker that does not have it and has it from now
  // on. Valid until the next call.
  const std::vector<Message>& Directory(WorkerView* worker, const JobView& job, uint32_t stage);

  // may_wait: no reader of the worker can finish with this change.
  using Send = std::function<void(WorkerView* worker, const Message& command, bool may_wait)>;
  // Calls send for each change of a directory and each worker that has it.
  void Change(const std::vector<Replica>& added, const std::vector<Replica>& removed, const Send& send);
  // Removes what the job has here.
  void EndJob(JobId job);

  ReplicaPtr LocationOf(const ReplicaView& view) const;
  // Returns about how many bytes of a message it takes.
  static size_t LocationBytes(const ReplicaView& view);

 private:
  // A stage of a job that has not ended.
  struct Sent {
    uint64_t version = 0;        // of its directory; rises with each change
    Message info;                // its StageInfo; null: not sent yet
    std::set<WorkerId> workers;  // those with its directory, and some that have lost it with their session
    // The directory for the next worker: in parts, with the deltas since; empty: it is encoded anew.
    std::vector<Message> whole;
    Instant encoded;             // when `whole` was begun
    size_t deltas = 0;           // in whole
    std::set<uint32_t> readers;  // stages with tasks that read it
    bool all_read_whole = true;  // each of these tasks reads outputs of all tasks of the stage
  };
  // Changes of one directory that fit into a message.
  struct Part;

  Sent& SentOf(const StageId& stage);
  std::vector<Message> EncodeDirectory(const JobView& job, uint32_t stage, uint64_t* version) const;
  std::map<StageId, std::vector<Part>> PartsOf(const std::vector<Replica>& added, const std::vector<Replica>& removed);
  bool MayWait(const StageId& stage, const Sent& sent, const DirectoryDelta& delta) const;

  const Driver& driver_;
  MasterCore& core_;
  const uint64_t cluster_id_;
  const std::shared_ptr<const Granter> granter_;
  std::map<StageId, Sent> stages_;
};

}  // namespace mr::master
