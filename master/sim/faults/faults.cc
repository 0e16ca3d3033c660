// Carries out the fault plan, and changes of machines.
#include "master/sched/state/state.h"
#include "master/sim/engine/simulation.h"

namespace mr::sim {

void Simulation::Break(uint32_t index) {
  const Fault& fault = experiment_.faults.faults[index];
  if (fault.worker >= workers_.size()) return;
  switch (fault.kind) {
    case FaultKind::kCrash: return Crash(fault);
    case FaultKind::kOutputLost: return LoseOutput(fault);
    case FaultKind::kContention:
      Contend(fault.worker, fault.factor);
      if (fault.lasts > 0) queue_.Push(now_ + FromSeconds(fault.lasts), Kind::kCalm, fault.worker, index);
      return;
  }
}

// Loses everything on the worker at once. The master learns of it from the lease, or when the worker registers again.
void Simulation::Crash(const Fault& fault) {
  Worker& w = workers_[fault.worker];
  if (!w.up) return;
  w.up = false;
  while (!w.attempts.empty()) Free(w.attempts.back());
  queue_.Push(now_ + experiment_.faults.lease, Kind::kLost, fault.worker, static_cast<uint32_t>(w.incarnation));
  if (fault.lasts <= 0) return;
  queue_.Push(now_ + FromSeconds(fault.lasts), Kind::kBack, fault.worker);
  ++outside_;
}

void Simulation::Lost(uint32_t worker, Incarnation incarnation) {
  if (workers_[worker].incarnation == incarnation) Step(sched::WorkerLost{{worker + 1}, incarnation, "lease"});
}

void Simulation::Back(uint32_t worker) {
  Worker& w = workers_[worker];
  if (w.up) return;
  w.up = true;
  ++w.incarnation;
  moved_at_ = now_;
  Register(worker);
}

void Simulation::Register(uint32_t worker) {
  const WorkerSpec& spec = experiment_.cluster.workers[worker];
  sched::WorkerRegistered e;
  e.worker = {worker + 1};
  e.incarnation = workers_[worker].incarnation;
  e.rack = experiment_.cluster.racks[spec.rack].name;
  e.slots = spec.slots;
  Step(std::move(e));
}

// Loses the first output that the worker serves, as a bad disk block does.
void Simulation::LoseOutput(const Fault& fault) {
  const sched::Worker* w = scheduler_.state().FindWorker({fault.worker + 1});
  if (w == nullptr || w->replicas.empty()) return;
  const auto [id, attempt] = *w->replicas.begin();
  for (const sched::ReplicaPlace& place : scheduler_.state().FindTask(id)->replicas) {
    if (place.worker.value != fault.worker + 1 || place.attempt != attempt) continue;
    const Replica replica = scheduler_.state().MakeReplica(id, place);
    return Step(sched::ReplicaLost{replica, "its digest is bad"});
  }
}

void Simulation::Contend(uint32_t worker, double factor) {
  workers_[worker].slow *= factor;
  Relimit(worker);
}

void Simulation::TurnMachine(uint32_t worker) {
  machines_.Turn(worker);
  queue_.Push(now_ + machines_.Stays(worker), Kind::kMachine, worker);
  Relimit(worker);
}

void Simulation::FailAttempt(uint32_t attempt) {
  const Attempt& a = attempts_[attempt];
  if (a.at != At::kRunning) return;  // it reports already
  const sched::AttemptFailed e{a.id, {a.worker + 1}, a.incarnation, FailureKind::kEnvironment, "a bad sector"};
  Free(attempt);
  Step(e);
}

// Restarts the copies that read this replica: it is lost, so they copy from those that remain. Readers that list no
// reads take the first replica of each output, and copy all that they were reading anew.
void Simulation::RestartCopying(const Replica& replica, bool all) {
  const TaskId& id = replica.output.task;
  for (Stage& stage : jobs_[id.job.seq - 1].stages) {
    for (const Task& task : stage.tasks) {
      for (uint32_t index = task.first; index != kNone; index = attempts_[index].next) {
        Attempt& a = attempts_[index];
        if (a.at != At::kRunning || a.phase != Phase::kCopy || a.flow == kNone) continue;
        if (a.listed()) {
          RestartRead(index, replica);
        } else if (all && a.batch > 0 && Reads(a, id.stage, id.task)) {
          const double before = a.before;
          StopFlow(a);
          a.before = before;
          Wake(index);
        }
      }
    }
  }
}

}  // namespace mr::sim
