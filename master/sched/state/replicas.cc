#include "master/sched/state/replicas.h"

#include <algorithm>

namespace mr::sched {

Replica ReplicaSetters::MakeReplica(const TaskId& id, const ReplicaPlace& place) {
  return {{id, place.generation}, place.attempt, place.worker, place.incarnation};
}

void ReplicaSetters::AddReplica(const TaskId& id, const ReplicaPlace& place) {
  Task& task = TaskOf(id);
  if (std::find(task.replicas.begin(), task.replicas.end(), place) != task.replicas.end()) return;
  CountRacks(StageOf(id), task, -1);
  task.replicas.push_back(place);
  CountRacks(StageOf(id), task, +1);
  digest_ += Hash(id, place);
  WorkerOf(place.worker).replicas.Insert({id, place.attempt});
  StageOf(id).bare.erase(id.task);
}

std::vector<AttemptId> ReplicaSetters::RemoveReplica(const TaskId& id, const ReplicaPlace& place) {
  Task& task = TaskOf(id);
  const auto it = std::find(task.replicas.begin(), task.replicas.end(), place);
  if (it == task.replicas.end()) return {};
  Bindings& bindings = JobOf(id.job).bindings;
  std::vector<AttemptId> readers;
  for (const BoundRead& read : bindings.Unfinished(id.stage, id.task, place)) {
    digest_ -= Hash(id.job, read);
    bindings.Erase(read);
    readers.push_back({{id.job, read.stage, read.task}, read.number});
  }
  digest_ -= Hash(id, place);
  WorkerOf(place.worker).replicas.Erase({id, place.attempt});
  CountRacks(StageOf(id), task, -1);
  task.replicas.erase(it);
  CountRacks(StageOf(id), task, +1);
  if (task.replicas.empty() && task.state == TaskState::kCommitted) StageOf(id).bare.insert(id.task);
  return readers;
}

void ReplicaSetters::Bind(const AttemptId& reader, const TaskId& output, const ReplicaPlace& replica, bool exclusive,
                          Instant now) {
  Bindings& bindings = JobOf(reader.task.job).bindings;
  const BoundRead* before = bindings.Find(reader, output.stage, output.task);
  if (before != nullptr) digest_ -= Hash(reader.task.job, *before);
  BoundRead read{reader.task.stage, reader.task.task, reader.number, output.stage, output.task,
                 replica,           exclusive,        false,         now};
  bindings.Put(read);
  digest_ += Hash(reader.task.job, read);
}

void ReplicaSetters::EndRead(const AttemptId& reader, const TaskId& output) {
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

void ReplicaSetters::DropReads(const AttemptId& reader) {
  Bindings& bindings = JobOf(reader.task.job).bindings;
  for (const BoundRead& read : bindings.Of(reader)) {
    digest_ -= Hash(reader.task.job, read);
    bindings.Erase(read);
  }
}

void ReplicaSetters::AskReplica(const Replica& from, WorkerId to) {
  const TaskId& id = from.output.task;
  const AskedReplica replica{id.stage, id.task, from.output.generation, from.attempt, to};
  if (JobOf(id.job).asked.insert(replica).second) digest_ += Hash(id.job, replica);
}

bool ReplicaSetters::EndAsked(const OutputId& output, uint32_t attempt, WorkerId to) {
  const TaskId& id = output.task;
  const AskedReplica replica{id.stage, id.task, output.generation, attempt, to};
  if (JobOf(id.job).asked.erase(replica) == 0) return false;
  digest_ -= Hash(id.job, replica);
  return true;
}

void ReplicaSetters::DropAsked(const TaskId& task) {
  std::set<AskedReplica>& asked = JobOf(task.job).asked;
  for (auto it = asked.lower_bound({task.stage, task.task, 0, 0, {}}); it != asked.end();) {
    if (it->stage != task.stage || it->task != task.task) return;
    digest_ -= Hash(task.job, *it);
    it = asked.erase(it);
  }
}

void ReplicaSetters::CountTransfer(uint32_t readers, uint64_t bytes, Duration took) {
  if (readers == 0 || bytes == 0 || took.ns <= 0) return;
  digest_ -= HashCounters();
  Transfers& of = transfers_[std::min<size_t>(readers, transfers_.size()) - 1];
  ++of.n;
  of.bytes += bytes;
  of.us += static_cast<uint64_t>(took.ns / 1000);
  digest_ += HashCounters();
}

}  // namespace mr::sched
