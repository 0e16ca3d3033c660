// Setters of replicas, of reads by bound readers, and of requests to workers for replicas.
#pragma once

#include <vector>

#include "master/sched/index/rates.h"

namespace mr::sched {

class ReplicaSetters : public RateIndex {
 public:
  static Replica MakeReplica(const TaskId& id, const ReplicaPlace& place);

  void AddReplica(const TaskId& id, const ReplicaPlace& place);
  // Removes the replica. Returns the readers that lose their bind, since their read of it is unfinished.
  std::vector<AttemptId> RemoveReplica(const TaskId& id, const ReplicaPlace& place);

  // Requires: a live by_bind attempt of a running job, and a replica of the task's output.
  void Bind(const AttemptId& reader, const TaskId& output, const ReplicaPlace& replica, bool exclusive, Instant now);
  // Marks the read as done: the reader has all bytes. No-op if it has no bind for the output.
  void EndRead(const AttemptId& reader, const TaskId& output);
  // Records that `to` was asked for a replica. Requires: an output of a running job.
  void AskReplica(const Replica& from, WorkerId to);
  // Removes that record. Returns false if the worker was not asked to copy this output from this attempt's replica.
  bool EndAsked(const OutputId& output, uint32_t attempt, WorkerId to);
  void DropAsked(const TaskId& task);
  void CountTransfer(uint32_t readers, uint64_t bytes, Duration took);

 protected:
  void DropReads(const AttemptId& reader);
};

}  // namespace mr::sched
