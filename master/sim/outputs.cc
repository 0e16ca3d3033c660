// Where outputs can be read: copies that are made, lost, found to be lost, and copied to other workers.
//
// An output kept on a worker with a loss rate is, at its commit, one that no reader will be able to read, or not;
// by luck of its own. A replica is made of it all the same, since it is copied at once. The first reader that
// comes across it fails (FetchFailed), and after a probe the master knows (CopyLost). A reader comes across one
// such copy at a time: it goes on to the next one when it has been told what became of the last.
#include <algorithm>

#include "common/base/digest.h"
#include "master/sched/state.h"
#include "master/sim/simulation.h"

namespace mr::sim {

namespace {
constexpr double kUnlimited = 1e12;
constexpr uint64_t kLossLuck = 5;
}  // namespace

void Simulation::Serve(const sched::Copy& copy) {
  const TaskId& id = copy.output.task;
  const uint32_t worker = copy.worker.value - 1;
  Stage& stage = StageOf(id);
  Task& task = stage.tasks[id.task];
  const double loss = experiment_.cluster.workers[worker].loss;
  if (loss > 0 &&
      Luck(id, static_cast<uint32_t>(MixHash(copy.output.generation, worker)), kLossLuck).Uniform() < loss) {
    stage.unreadable.push_back({copy, false});
    for (const auto& [a, stamp] : stage.idle) {
      if (attempts_[a].stamp != stamp || !attempts_[a].idle || !Reads(attempts_[a], id.stage, id.task)) continue;
      return Tell(a, stage.unreadable.back());
    }
    return;
  }
  ++stage.by_rack[experiment_.cluster.workers[worker].rack];
  if (task.copies++ > 0) return;
  task.worker = worker;
  ++stage.readable;
  WakeReaders(id);
}

size_t Simulation::Served(const TaskId& id) const {
  const Stage& stage = jobs_[id.job.seq - 1].stages[id.stage];
  const auto unreadable = std::count_if(stage.unreadable.begin(), stage.unreadable.end(),
                                        [&](const Unreadable& u) { return u.copy.output.task == id; });
  return stage.tasks[id.task].copies + static_cast<size_t>(unreadable);
}

void Simulation::Do(const sched::DropCopy& d) {
  const TaskId& id = d.copy.output.task;
  if (jobs_[id.job.seq - 1].over) return;
  Stage& stage = StageOf(id);
  Task& task = stage.tasks[id.task];
  const auto lost = std::find_if(stage.unreadable.begin(), stage.unreadable.end(),
                                 [&](const Unreadable& u) { return u.copy == d.copy; });
  if (lost != stage.unreadable.end()) {
    stage.unreadable.erase(lost);
    return;  // nobody has read it
  }
  if (task.copies == 0) return;
  --stage.by_rack[experiment_.cluster.workers[d.copy.worker.value - 1].rack];
  if (--task.copies == 0) --stage.readable;
  for (const sched::CopyPlace& place : scheduler_.state().FindTask(id)->copies) {
    const sched::Copy other = scheduler_.state().MakeCopy(id, place);
    const bool readable = std::none_of(stage.unreadable.begin(), stage.unreadable.end(),
                                       [&](const Unreadable& u) { return u.copy == other; });
    if (readable) task.worker = place.worker.value - 1;
  }
  RestartCopies(id.job);
}

// In the rack, so over two interfaces and two disks.
void Simulation::Do(const sched::ReplicateCopy& d) {
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
  const sched::ReplicateCopy d = replicas_.at(flow);
  replicas_.erase(flow);
  flows_.End(now_, flow);
  const TaskId& id = d.from.output.task;
  const Worker& from = workers_[d.from.worker.value - 1];
  const Worker& to = workers_[d.to.value - 1];
  if (jobs_[id.job.seq - 1].over) return;
  if (!from.up || from.incarnation != d.from.incarnation || !to.up) {
    return Step(sched::CopyNotMade{d.from, d.to, to.up ? "its source is gone" : "its worker was lost"});
  }
  if (StageOf(id).tasks[id.task].committed != d.from.output.generation) return;
  sched::Copy copy = d.from;
  copy.worker = d.to;
  copy.incarnation = to.incarnation;
  Serve(copy);
  Step(sched::CopyMade{copy});
}

bool Simulation::Reads(const Attempt& a, uint32_t stage, uint32_t task) const {
  const StageModel& model = ModelOf(a.id.task);
  for (const sched::Slice& slice : scheduler_.state().FindTask(a.id.task)->plan.slices) {
    if (model.inputs[slice.input].upstream == stage && task >= slice.task_begin && task < slice.task_end) return true;
  }
  return false;
}

void Simulation::TryUnreadable(uint32_t index) {
  const Attempt& a = attempts_[index];
  for (const sched::StageInput& in : ModelOf(a.id.task).inputs) {
    if (!in.is_edge) continue;
    for (Unreadable& u : jobs_[a.id.task.job.seq - 1].stages[in.upstream].unreadable) {
      if (!u.told && Reads(a, in.upstream, u.copy.output.task.task)) return Tell(index, u);
    }
  }
}

// Not from within the step that made it.
void Simulation::Tell(uint32_t index, Unreadable& unreadable) {
  unreadable.told = true;
  failed_reads_.push_back({attempts_[index].id, index, attempts_[index].stamp, unreadable.copy});
  queue_.Push(now_, Kind::kReadFails, static_cast<uint32_t>(failed_reads_.size() - 1));
}

bool Simulation::Known(const sched::Copy& copy) const {
  const sched::Task* task = scheduler_.state().FindTask(copy.output.task);
  if (task == nullptr || jobs_[copy.output.task.job.seq - 1].over) return false;
  const sched::CopyPlace place{copy.output.generation, copy.attempt, copy.worker, copy.incarnation};
  return std::find(task->copies.begin(), task->copies.end(), place) != task->copies.end();
}

void Simulation::ReadFails(uint32_t read) {
  const FailedRead failed = failed_reads_[read];
  if (!Known(failed.copy)) return;
  ++totals_.lost_copies;
  queue_.Push(now_ + experiment_.faults.probe, Kind::kProbed, read);
  Step(sched::FetchFailed{failed.reader, failed.copy, "its chunks cannot be read"});
}

void Simulation::Probed(uint32_t read) {
  const FailedRead failed = failed_reads_[read];
  if (Known(failed.copy)) Step(sched::CopyLost{failed.copy, "its chunks cannot be read"});
  const Attempt& a = attempts_[failed.attempt];
  if (a.stamp == failed.stamp && a.at == At::kRunning && a.phase == Phase::kCopy) TryUnreadable(failed.attempt);
}

}  // namespace mr::sim
