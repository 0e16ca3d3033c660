// Reports that only a damaged or foreign worker might send: unknown ids, attempts of other workers, unknown inputs,
// numbers near the end of their range, progress that goes back.
#include "tests/master/sched/random_cluster.h"

namespace mr::sched {

uint32_t RandomCluster::AnyNumber() { return static_cast<uint32_t>(Chance(0.7) ? rng_.Below(4) : rng_.Next()); }

uint64_t RandomCluster::AnySize() {
  const uint64_t edges[] = {0, 1, INT64_MAX - 1, uint64_t{1} << 63, UINT64_MAX};
  return Chance(0.5) ? rng_.Below(200) : Chance(0.5) ? edges[rng_.Below(std::size(edges))] : rng_.Next();
}

// An attempt of this worker, of any, or of none.
AttemptId RandomCluster::AnyAttempt(WorkerId id) {
  const Worker& w = workers_.at(Chance(0.5) ? id : WorkerId{1 + static_cast<uint32_t>(rng_.Below(workers_.size()))});
  if (w.attempts.empty() || Chance(0.3)) return {{{AnyNumber(), AnyNumber()}, AnyNumber(), AnyNumber()}, AnyNumber()};
  return std::next(w.attempts.begin(), static_cast<std::ptrdiff_t>(rng_.Below(w.attempts.size())))->first;
}

// A replica that exists, except that one field may differ.
Replica RandomCluster::AnyReplica() {
  Replica replica{{{{1, AnyNumber()}, AnyNumber(), AnyNumber()}, AnyNumber()}, AnyNumber(), {AnyNumber()}, AnySize()};
  if (!outputs_.empty() && Chance(0.7)) {
    const auto& [task, out] = *std::next(outputs_.begin(), static_cast<std::ptrdiff_t>(rng_.Below(outputs_.size())));
    replica.output = {task, out.generation};
    replica.attempt = out.attempt;
    if (!out.replicas.empty()) replica.worker = out.replicas.begin()->first;
  }
  switch (rng_.Below(4)) {
    case 0: replica.output.task.stage = AnyNumber(); break;
    case 1: replica.output.task.task = AnyNumber(); break;
    case 2: replica.output.generation = AnyNumber(); break;
    case 3: replica.attempt = AnyNumber(); break;
  }
  return replica;
}

// Reports an attempt as done that read unknown inputs, or inputs of other content. This ends the attempt.
void RandomCluster::FinishWrongly(WorkerId id, const AttemptId& attempt) {
  Worker& w = workers_.at(id);
  const Task* task = scheduler_.state().FindTask(attempt.task);
  const bool own = w.attempts.count(attempt) > 0;
  // Other content of a committed task would be believed: that is what indeterminate jobs are for.
  if (own && task->state == TaskState::kCommitted) return;
  AttemptFinished e;
  e.attempt = attempt;
  e.worker = id;
  e.incarnation = w.incarnation;
  e.manifest = {AnySize(), AnySize(), {AnySize(), AnySize()}};
  for (uint64_t i = 0, n = 1 + rng_.Below(3); i < n; ++i) {
    e.consumed.push_back({AnyNumber(), AnyNumber(), AnyNumber(), {AnySize(), AnySize()}});
  }
  e.ran = Micros(static_cast<int64_t>(AnySize() % (INT64_MAX / 1000)));
  e.waited = Micros(static_cast<int64_t>(AnySize() % (INT64_MAX / 1000)));
  w.attempts.erase(attempt);
  ++lies_;
  Step(e);
}

void RandomCluster::RegisterWrongly(WorkerId id) {
  const Worker& w = workers_.at(id);
  WorkerRegistered e;
  e.worker = id;
  e.incarnation = w.incarnation;
  e.rack = w.rack;
  e.slots = w.slots;
  for (const auto& [key, replica] : w.replicas) e.inventory.push_back(replica);
  for (const auto& [attempt, a] : w.attempts) e.running.push_back(attempt);
  for (int i = 0; i < 3; ++i) e.inventory.push_back(AnyReplica());
  for (int i = 0; i < 3; ++i) e.running.push_back(AnyAttempt(id));
  Step(e);
}

void RandomCluster::Lie() {
  const WorkerId id{1 + static_cast<uint32_t>(rng_.Below(workers_.size()))};
  const Worker& w = workers_.at(id);
  if (!w.alive) return;
  const AttemptId attempt = AnyAttempt(id);
  const auto phase = static_cast<uint8_t>(Chance(0.7) ? rng_.Below(5) : rng_.Next());
  switch (rng_.Below(9)) {
    case 0:
    case 1: {
      const ProgressReport report{attempt, phase, AnySize(), AnySize(), AnySize(), Chance(0.5)};
      return Step(AttemptProgress{id, w.incarnation, {report}});
    }
    case 2: return FinishWrongly(id, attempt);
    case 3: {
      const auto took = static_cast<int64_t>(AnySize() % (INT64_MAX / 1000));
      return Step(FetchDone{attempt, AnyReplica(), AnySize(), Micros(took), AnyNumber()});
    }
    case 4: return Step(FetchFailed{attempt, AnyReplica(), "so it says"});
    case 5: {
      // Believed where it was asked for; a reader then finds nothing there, and the host looks.
      Replica replica = AnyReplica();
      replica.worker = id;
      replica.incarnation = w.incarnation;
      const TaskId& task = replica.output.task;
      if (w.replicas.count({task, replica.attempt}) > 0) return;
      const sched::Job* job = scheduler_.state().FindJob(task.job);
      const AskedReplica ask{task.stage, task.task, replica.output.generation, replica.attempt, id};
      const bool asked = job != nullptr && job->asked.count(ask) > 0;
      const auto replicas = [&] {
        const Task* of = scheduler_.state().FindTask(task);
        return of == nullptr ? 0 : of->replicas.size();
      };
      const size_t before = replicas();
      Step(ReplicaMade{replica});
      if (!asked && replicas() > before) Broken("a replica that nobody asked for can be read");
      return Step(ReplicaLost{replica, "it is not there"});
    }
    case 6: return Step(ReplicaNotMade{AnyReplica(), id, "so it says"});
    case 7: return RegisterWrongly(id);
    case 8:
      if (w.attempts.count(attempt) > 0) return;
      Step(AttemptStarted{attempt, id, w.incarnation});
      Step(AttemptFailed{attempt, id, w.incarnation, FailureKind::kUser, "so it says"});
      Step(AttemptRefused{attempt, id, w.incarnation, "so it says"});
      return Step(AttemptKilled{attempt, id, w.incarnation});
  }
}

}  // namespace mr::sched
