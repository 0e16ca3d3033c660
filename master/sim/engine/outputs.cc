// Simulates replicas of outputs: how they are made, transferred to other workers, and lost.
//
// On a worker with a loss rate, chance decides at the commit whether an output will be unreadable. A further replica
// can still be made from it, since that copies at once. The first reader that needs it fails (FetchFailed), and after a
// probe the master knows (ReplicaLost). A reader meets one unreadable replica at a time. It goes on to the next one
// after the probe of the last.
#include <algorithm>

#include "common/base/digest.h"
#include "master/sched/state/state.h"
#include "master/sim/engine/simulation.h"

namespace mr::sim {

namespace {
constexpr double kUnlimited = 1e12;
}  // namespace

void Simulation::Serve(const Replica& replica) {
  const TaskId& id = replica.output.task;
  const uint32_t worker = replica.worker.value - 1;
  Stage& stage = StageOf(id);
  Task& task = stage.tasks[id.task];
  const double loss = experiment_.cluster.workers[worker].loss;
  if (loss > 0 &&
      Luck(id, static_cast<uint32_t>(MixHash(replica.output.generation, worker)), kPlaceLuck).Uniform() < loss) {
    stage.unreadable.push_back({replica, false});
    for (const auto& [a, stamp] : stage.waiting) {
      if (attempts_[a].stamp != stamp || !attempts_[a].idle || !Reads(attempts_[a], id.stage, id.task)) continue;
      return Tell(a, stage.unreadable.back());
    }
    return;
  }
  ++stage.by_rack[experiment_.cluster.workers[worker].rack];
  if (task.replicas++ > 0) return;
  task.worker = worker;
  const StageModel& model = ModelOf(id);
  task.written = workers_[worker].written += static_cast<double>(model.output_bytes) / model.tasks;
  ++stage.readable;
  WakeReaders(id);
}

// A worker's memory keeps what it wrote last, as a page cache that reads do not refresh.
bool Simulation::Cached(const Task& task) const {
  return workers_[task.worker].written - task.written < experiment_.tasks.cache;
}

size_t Simulation::Served(const TaskId& id) const {
  const Stage& stage = jobs_[id.job.seq - 1].stages[id.stage];
  const auto unreadable = std::count_if(stage.unreadable.begin(), stage.unreadable.end(),
                                        [&](const Unreadable& u) { return u.replica.output.task == id; });
  return stage.tasks[id.task].replicas + static_cast<size_t>(unreadable);
}

void Simulation::Do(const sched::DropReplica& d) {
  const TaskId& id = d.replica.output.task;
  if (jobs_[id.job.seq - 1].over) return;
  Stage& stage = StageOf(id);
  Task& task = stage.tasks[id.task];
  const auto lost = std::find_if(stage.unreadable.begin(), stage.unreadable.end(),
                                 [&](const Unreadable& u) { return u.replica == d.replica; });
  if (lost != stage.unreadable.end()) {
    stage.unreadable.erase(lost);
    return;  // no reader has read it
  }
  if (task.replicas == 0) return;
  --stage.by_rack[experiment_.cluster.workers[d.replica.worker.value - 1].rack];
  const bool read = task.worker == d.replica.worker.value - 1;
  if (--task.replicas == 0) --stage.readable;
  for (const sched::ReplicaPlace& place : scheduler_.state().FindTask(id)->replicas) {
    const Replica other = scheduler_.state().MakeReplica(id, place);
    const bool readable = std::none_of(stage.unreadable.begin(), stage.unreadable.end(),
                                       [&](const Unreadable& u) { return u.replica == other; });
    if (readable) task.worker = place.worker.value - 1;
  }
  RestartCopying(d.replica, read);
}

// Transfers a replica inside the rack, so over two interfaces and two disks.
void Simulation::Do(const sched::ReplicateOutput& d) {
  const StageModel& model = ModelOf(d.from.output.task);
  const double bytes = static_cast<double>(model.output_bytes) / model.tasks;
  const Worker &from = workers_[d.from.worker.value - 1], &to = workers_[d.to.value - 1];
  std::vector<Flows::Use> uses = {{from.disk, 1}, {to.disk, 1}};
  if (from.uplink != to.uplink) uses.insert(uses.end(), {{from.uplink, 1}, {to.downlink, 1}});
  if (from.disk == to.disk) uses.erase(uses.begin());
  const uint32_t flow = flows_.Start(now_, bytes, kUnlimited, uses);
  if (flow_of_.size() <= flow) flow_of_.resize(flow + 1, kNone);
  replicas_[flow] = d;
  ++totals_.replicas;
  totals_.replica_bytes += bytes;
}

void Simulation::EndReplica(uint32_t flow) {
  const sched::ReplicateOutput d = replicas_.at(flow);
  replicas_.erase(flow);
  flows_.End(now_, flow);
  const TaskId& id = d.from.output.task;
  const Worker& from = workers_[d.from.worker.value - 1];
  const Worker& to = workers_[d.to.value - 1];
  if (jobs_[id.job.seq - 1].over) return;
  if (!from.up || from.incarnation != d.from.incarnation || !to.up) {
    return Step(sched::ReplicaNotMade{d.from, d.to, to.up ? "its source is gone" : "its worker was lost"});
  }
  if (StageOf(id).tasks[id.task].committed != d.from.output.generation) return;
  Replica replica = d.from;
  replica.worker = d.to;
  replica.incarnation = to.incarnation;
  Serve(replica);
  Step(sched::ReplicaMade{replica});
}

bool Simulation::Reads(const Attempt& a, uint32_t stage, uint32_t task) const {
  const StageModel& model = ModelOf(a.id.task);
  for (const Slice& slice : scheduler_.state().FindTask(a.id.task)->plan.slices) {
    if (model.inputs[slice.input].upstream == stage && task >= slice.task_begin && task < slice.task_end) return true;
  }
  return false;
}

void Simulation::TryUnreadable(uint32_t index) {
  const Attempt& a = attempts_[index];
  for (const sched::StageInput& in : ModelOf(a.id.task).inputs) {
    if (!in.is_edge) continue;
    for (Unreadable& u : jobs_[a.id.task.job.seq - 1].stages[in.upstream].unreadable) {
      if (!u.told && Reads(a, in.upstream, u.replica.output.task.task)) return Tell(index, u);
    }
  }
}

// The read fails in an item of its own, not inside the step that made the replica.
void Simulation::Tell(uint32_t index, Unreadable& unreadable) {
  unreadable.told = true;
  failed_reads_.push_back({attempts_[index].id, index, attempts_[index].stamp, unreadable.replica});
  queue_.Push(now_, Kind::kReadFails, static_cast<uint32_t>(failed_reads_.size() - 1));
}

bool Simulation::Known(const Replica& replica) const {
  const sched::Task* task = scheduler_.state().FindTask(replica.output.task);
  if (task == nullptr || jobs_[replica.output.task.job.seq - 1].over) return false;
  const sched::ReplicaPlace place{replica.output.generation, replica.attempt, replica.worker, replica.incarnation};
  return std::find(task->replicas.begin(), task->replicas.end(), place) != task->replicas.end();
}

void Simulation::ReadFails(uint32_t read) {
  const FailedRead failed = failed_reads_[read];
  if (!Known(failed.replica)) return;
  ++totals_.lost_replicas;
  queue_.Push(now_ + experiment_.faults.probe, Kind::kProbed, read);
  Step(sched::FetchFailed{failed.reader, failed.replica, "its chunks cannot be read"});
}

void Simulation::Probed(uint32_t read) {
  const FailedRead failed = failed_reads_[read];
  if (Known(failed.replica)) Step(sched::ReplicaLost{failed.replica, "its chunks cannot be read"});
  const Attempt& a = attempts_[failed.attempt];
  if (a.stamp == failed.stamp && a.at == At::kRunning && a.phase == Phase::kCopy) TryUnreadable(failed.attempt);
}

}  // namespace mr::sim
