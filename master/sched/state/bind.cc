// Setters of binds (bindings.h), of the time that bound reads took, and of requests to workers for replicas.
#include <algorithm>

#include "master/sched/state/state.h"

namespace mr::sched {

void State::Bind(const AttemptId& reader, const TaskId& output, const ReplicaPlace& replica, bool exclusive,
                 Instant now) {
  Bindings& bindings = JobOf(reader.task.job).bindings;
  const BoundRead* before = bindings.Find(reader, output.stage, output.task);
  if (before != nullptr) digest_ -= Hash(reader.task.job, *before);
  BoundRead read{reader.task.stage, reader.task.task, reader.number, output.stage, output.task,
                 replica,           exclusive,        false,         now};
  bindings.Put(read);
  digest_ += Hash(reader.task.job, read);
}

void State::EndRead(const AttemptId& reader, const TaskId& output) {
  const auto job = jobs_.find(reader.task.job);
  if (job == jobs_.end()) return;
  const BoundRead* found = job->second.bindings.Find(reader, output.stage, output.task);
  if (found == nullptr || found->done) return;
  BoundRead read = *found;
  digest_ -= Hash(reader.task.job, read);
  read.done = true;
  job->second.bindings.Put(read);
  digest_ += Hash(reader.task.job, read);
}

void State::DropReads(const AttemptId& reader) {
  Bindings& bindings = JobOf(reader.task.job).bindings;
  for (const BoundRead& read : bindings.Of(reader)) {
    digest_ -= Hash(reader.task.job, read);
    bindings.Erase(read);
  }
}

void State::AskReplica(const Replica& from, WorkerId to) {
  const TaskId& id = from.output.task;
  const AskedReplica replica{id.stage, id.task, from.output.generation, from.attempt, to};
  if (JobOf(id.job).asked.insert(replica).second) digest_ += Hash(id.job, replica);
}

bool State::EndAsked(const OutputId& output, uint32_t attempt, WorkerId to) {
  const TaskId& id = output.task;
  const AskedReplica replica{id.stage, id.task, output.generation, attempt, to};
  if (JobOf(id.job).asked.erase(replica) == 0) return false;
  digest_ -= Hash(id.job, replica);
  return true;
}

void State::DropAsked(const TaskId& task) {
  std::set<AskedReplica>& asked = JobOf(task.job).asked;
  for (auto it = asked.lower_bound({task.stage, task.task, 0, 0, {}}); it != asked.end();) {
    if (it->stage != task.stage || it->task != task.task) return;
    digest_ -= Hash(task.job, *it);
    it = asked.erase(it);
  }
}

void State::CountTransfer(uint32_t readers, uint64_t bytes, Duration took) {
  if (readers == 0 || bytes == 0 || took.ns <= 0) return;
  digest_ -= HashCounters();
  Transfers& of = transfers_[std::min<size_t>(readers, transfers_.size()) - 1];
  ++of.n;
  of.bytes += bytes;
  of.us += static_cast<uint64_t>(took.ns / 1000);
  digest_ += HashCounters();
}

Replica State::MakeReplica(const TaskId& id, const ReplicaPlace& place) const {
  return {{id, place.generation}, place.attempt, place.worker, place.incarnation};
}

}  // namespace mr::sched
