// Workers come, come back, drain and go. Their attempts and replicas go with them.
#include <algorithm>

#include "master/sched/fold/core.h"
#include "master/sched/state/leaving.h"

namespace mr::sched {

bool Core::Current(WorkerId worker, Incarnation incarnation) const {
  const Worker* w = state_.FindWorker(worker);
  return w != nullptr && w->alive && w->incarnation == incarnation;
}

void Core::On(const WorkerRegistered& e) {
  const Worker* w = state_.FindWorker(e.worker);
  const bool same_life = w != nullptr && w->alive && w->incarnation == e.incarnation;
  if (w != nullptr && w->alive && !same_life) DropWorker(e.worker);
  state_.PutWorker(e);
  if (same_life) Reconcile(e);
  unended_.Settle(e);
  EndStrangers(e);
  if (e.draining) EndLentOn(e.worker);
  if (same_life) BindAgain(e.worker);
  freed.insert(e.worker);
  moves.look = true;
}

// Handles a registration of the same process. Attempts and replicas that it no longer has are lost; the others go on.
void Core::Reconcile(const WorkerRegistered& e) {
  const Worker& w = *state_.FindWorker(e.worker);
  const std::set<AttemptId> running(e.running.begin(), e.running.end());
  std::set<std::pair<TaskId, uint32_t>> served;
  for (const Replica& c : e.inventory) served.insert({c.output.task, c.attempt});
  const std::vector<AttemptId> ours(w.attempts.begin(), w.attempts.end());
  for (const AttemptId& id : ours) {
    // A finished attempt whose report is under way is in the inventory.
    if (running.count(id) != 0 || served.count({id.task, id.number}) != 0) continue;
    const Attempt* a = state_.FindAttempt(id);
    const bool live = a->live();
    EndAttempt(id, live ? AttemptState::kFailed : AttemptState::kKilled, FailureKind::kLost);
    if (live) Charge(id, FailureKind::kLost, "the worker came back without the attempt");
  }
  const std::vector<ReplicaKey> replicas = w.replicas.All();
  for (const auto& [task, attempt] : replicas) {
    if (served.count({task, attempt}) != 0) continue;
    const std::vector<ReplicaPlace> places = state_.FindTask(task)->replicas;
    for (const ReplicaPlace& place : places) {
      if (place.worker == e.worker && place.attempt == attempt) {
        LoseReplica(task, place, ReasonCode::kOutputLost);
      }
    }
  }
}

// Sends unfinished binds again, since they may not have reached the worker.
void Core::BindAgain(WorkerId worker) {
  const FlatSet<AttemptId>& attempts = state_.FindWorker(worker)->attempts;
  for (const AttemptId& id : attempts) {
    const Attempt* a = state_.FindAttempt(id);
    if (!a->by_bind || !a->live()) continue;
    for (const BoundRead& read : state_.FindJob(id.task.job)->bindings.Of(id)) {
      if (read.done) continue;
      const TaskId output{id.task.job, read.up_stage, read.up_task};
      Emit(Bind{id, state_.MakeReplica(output, read.replica), {ReasonCode::kToldAgain, "", {}}, read.exclusive});
    }
  }
}

// Ends attempts and drops replicas that the worker has and the state does not know.
void Core::EndStrangers(const WorkerRegistered& e) {
  for (const AttemptId& id : e.running) {
    const Attempt* a = state_.FindAttempt(id);
    const bool ours = a != nullptr && a->worker == e.worker && a->incarnation == e.incarnation;
    if (ours && a->live()) continue;
    if (!ours || !a->holds_slot()) unended_.Add(id, e.worker, e.incarnation, {});
    Emit(Kill{id, e.worker, e.incarnation, {ReasonCode::kStale, "", {}}});
  }
  for (const Replica& c : e.inventory) {
    const Task* task = state_.FindTask(c.output.task);
    if (task != nullptr) {
      // By attempt: if the output was lost while the attempt ran, the worker still names the generation of its
      // launch.
      const auto same = [&](const ReplicaPlace& p) {
        return p.attempt == c.attempt && p.worker == e.worker && p.incarnation == e.incarnation;
      };
      if (std::any_of(task->replicas.begin(), task->replicas.end(), same)) continue;
      const Attempt* a = state_.FindAttempt({c.output.task, c.attempt});
      if (a != nullptr && a->holds_slot() && a->incarnation == e.incarnation) continue;
      if (TakeMade({c.output, c.attempt, e.worker, e.incarnation})) continue;  // its report was lost, or is under way
    }
    Emit(DropReplica{{c.output, c.attempt, e.worker, e.incarnation}, {ReasonCode::kStale, "", {}}});
  }
}

void Core::On(const WorkerLost& e) {
  if (!Current(e.worker, e.incarnation)) return;
  DropWorker(e.worker);
  EndAskedOf(e.worker, e.why);
}

// Ends the requests for replicas to this worker. Another incarnation of it is asked again.
void Core::EndAskedOf(WorkerId worker, const std::string& why) {
  std::vector<ReplicaNotMade> asked;
  for (const auto& [id, job] : state_.jobs()) {
    for (const AskedReplica& replica : job.asked) {
      if (replica.to != worker) continue;
      asked.push_back({{{{id, replica.stage, replica.task}, replica.generation}, replica.attempt, {}, 0}, worker, why});
    }
  }
  for (const ReplicaNotMade& replica : asked) On(replica);
}

void Core::DropWorker(WorkerId id) {
  state_.EditWorker(id, [](Worker& w) { w.alive = false; });
  SetLeaving(&state_, id, false);
  const Worker& w = *state_.FindWorker(id);
  unended_.LeasesRunOut(id, w.incarnation, now_ + state_.config().lost_wait);
  const std::vector<AttemptId> attempts(w.attempts.begin(), w.attempts.end());
  for (const AttemptId& attempt : attempts) {
    const Attempt* a = state_.FindAttempt(attempt);
    if (a == nullptr || !a->holds_slot()) continue;
    const bool live = a->live();
    unended_.Add(attempt, id, w.incarnation, now_ + state_.config().lost_wait);
    EndAttempt(attempt, live ? AttemptState::kFailed : AttemptState::kKilled, FailureKind::kLost);
    if (live) Charge(attempt, FailureKind::kLost, "worker " + Name(id) + " was lost");
  }
  const std::vector<ReplicaKey> replicas = w.replicas.All();
  for (const auto& [task, attempt] : replicas) {
    const Task* t = state_.FindTask(task);
    if (t == nullptr) continue;
    const std::vector<ReplicaPlace> places = t->replicas;
    for (const ReplicaPlace& place : places) {
      if (place.worker == id && place.attempt == attempt) {
        LoseReplica(task, place, ReasonCode::kWorkerLost);
      }
    }
  }
}

void Core::On(const WorkerDraining& e) {
  if (!Current(e.worker, e.incarnation)) return;
  state_.EditWorker(e.worker, [&](Worker& w) { w.draining = e.on; });
  if (e.on)
    EndLentOn(e.worker);
  else
    freed.insert(e.worker);
  moves.look = true;  // one place more, or one less
}

void Core::On(const OutputsLeaving& e) {
  if (!Current(e.worker, e.incarnation)) return;
  SetLeaving(&state_, e.worker, e.on);
  moves.look = true;
}

// Its clones on lent slots go on: the worker is only away.
void Core::On(const WorkerAway& e) {
  if (!Current(e.worker, e.incarnation)) return;
  state_.EditWorker(e.worker, [](Worker& w) { w.draining = true; });
  moves.look = true;  // one place less for outputs of a worker that leaves
}

// If the worker of the other attempt drains, too, the work of both could be lost.
bool Core::RunsWhereItStays(const Task& task, const Attempt& but) const {
  return std::any_of(task.attempts.begin(), task.attempts.end(), [&](const Attempt& other) {
    return other.number != but.number && other.live() && !state_.FindWorker(other.worker)->draining;
  });
}

void Core::EndLentOn(WorkerId id) {
  const FlatSet<AttemptId>& held = state_.FindWorker(id)->attempts;
  const std::vector<AttemptId> attempts(held.begin(), held.end());
  for (const AttemptId& attempt : attempts) {
    const Task& task = *state_.FindTask(attempt.task);
    const Attempt& a = *state_.FindAttempt(attempt);
    const bool spare = task.state == TaskState::kCommitted && a.cause == Cause::kOpportunistic;
    if (spare || (CanDoWithout(task, a) && RunsWhereItStays(task, a)))
      KillNow(attempt, {ReasonCode::kWorkerDrains, "", {}});
  }
}

}  // namespace mr::sched
