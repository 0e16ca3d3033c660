#include "master/core/attempts.h"

#include <algorithm>
#include <variant>

namespace mr::master {
namespace {

uint64_t TakenBytes(const sched::Attempt& attempt) {
  return attempt.samples.empty() ? 0 : attempt.samples.back().taken_by_operator();
}

// failed: by a report of its worker.
AttemptState StateOf(const sched::Attempt& attempt, bool waits, bool replica, bool failed) {
  switch (attempt.state) {
    case sched::AttemptState::kLaunched:
    case sched::AttemptState::kRunning:
    case sched::AttemptState::kEnding:
      return waits && !attempt.inputs_done ? AttemptState::kWaiting : AttemptState::kRunning;
    case sched::AttemptState::kCommitted: return replica ? AttemptState::kReplica : AttemptState::kCommitted;
    case sched::AttemptState::kFailed:
      return attempt.failure == FailureKind::kLost && !failed ? AttemptState::kKilled : AttemptState::kFailed;
    case sched::AttemptState::kDiscarded:
    case sched::AttemptState::kKilled: return AttemptState::kKilled;
  }
  return AttemptState::kKilled;
}

bool IsReplica(const AttemptId& id, const std::vector<sched::Decision>& decisions) {
  return std::any_of(decisions.begin(), decisions.end(), [&id](const sched::Decision& decision) {
    const auto* accept = std::get_if<sched::Accept>(&decision);
    return accept != nullptr && accept->attempt == id && !accept->winner;
  });
}

}  // namespace

bool Live(AttemptState state) { return state == AttemptState::kRunning || state == AttemptState::kWaiting; }

AttemptView ViewOf(const AttemptId& id, const sched::Attempt& attempt, const AttemptNote* note) {
  static const AttemptNote kNone;
  if (note == nullptr) note = &kNone;
  return {.id = id,
          .worker = attempt.worker,
          .incarnation = attempt.incarnation,
          .cause = attempt.cause,
          .state = StateOf(attempt, note->reason.code() == sched::ReasonCode::kWaitingEarly,
                           note->verdict == Verdict::kReplicaKept, note->failed),
          .failure = attempt.state == sched::AttemptState::kDiscarded ? FailureKind::kKilled : attempt.failure,
          .stop_asked = attempt.state == sched::AttemptState::kEnding,
          .launched = attempt.launched_at,
          .started = attempt.started_at,
          .inputs_done = attempt.inputs_done_at,
          .sort = attempt.sort_at,
          .reduce = attempt.reduce_at,
          .ended = attempt.ended_at,
          .taken_bytes = TakenBytes(attempt),
          .total_bytes = attempt.samples.empty() ? 0 : attempt.samples.back().total_bytes,
          .note = note};
}

StepWatch::StepWatch(const sched::State& state, const sched::Event& event) {
  if (const auto* progress = std::get_if<sched::AttemptProgress>(&event)) {
    for (const ProgressReport& report : progress->reports) Add(state, report.attempt, progress->worker);
  } else if (const auto* finished = std::get_if<sched::AttemptFinished>(&event)) {
    Add(state, finished->attempt, finished->worker);
  } else if (const auto* failed = std::get_if<sched::AttemptFailed>(&event)) {
    failed_ = failed->attempt;
    Add(state, failed->attempt, failed->worker);
  } else if (const auto* refused = std::get_if<sched::AttemptRefused>(&event)) {
    Add(state, refused->attempt, refused->worker);
  } else if (const auto* killed = std::get_if<sched::AttemptKilled>(&event)) {
    Add(state, killed->attempt, killed->worker);
  } else if (const auto* missing = std::get_if<sched::InputsMissing>(&event)) {
    for (const AttemptId& id : missing->attempts) {
      const sched::Attempt* attempt = state.FindAttempt(id);
      if (attempt != nullptr) Add(state, id, attempt->worker);
    }
  } else if (const auto* lost = std::get_if<sched::WorkerLost>(&event)) {
    AddWorker(state, lost->worker);
    lost_ = lost->worker;
  } else if (const auto* registered = std::get_if<sched::WorkerRegistered>(&event)) {
    AddWorker(state, registered->worker);
    for (const Replica& replica : registered->inventory) {
      inventory_.push_back({replica.output, replica.attempt, registered->worker, registered->incarnation});
    }
  }
}

void StepWatch::AddWorker(const sched::State& state, WorkerId id) {
  const sched::Worker* worker = state.FindWorker(id);
  if (worker == nullptr) return;
  for (const AttemptId& attempt : worker->attempts) Add(state, attempt, id);
  asked_ = RequestedReplicas(state, id);
}

void StepWatch::Add(const sched::State& state, const AttemptId& id, WorkerId worker) {
  const sched::Attempt* attempt = state.FindAttempt(id);
  if (attempt == nullptr || !attempt->holds_slot() || attempt->worker != worker) return;
  // A report may name an attempt twice. There are at most as many as the worker has slots.
  const auto same = [&id](const Before& before) { return before.id == id; };
  if (std::none_of(attempts_.begin(), attempts_.end(), same))
    attempts_.push_back({id, TakenBytes(*attempt), !attempt->live()});
}

StepChanges StepWatch::Changes(const sched::State& state, const std::vector<sched::Decision>& decisions,
                               Instant at) const {
  StepChanges changes;
  for (const auto& [id, taken, asked] : attempts_) {
    const sched::Attempt* attempt = state.FindAttempt(id);
    if (attempt == nullptr) continue;  // its job ended, and is forgotten already
    AttemptChange change{.id = id, .cause = attempt->cause, .ended = !attempt->holds_slot(), .asked = asked};
    change.state = StateOf(*attempt, false, IsReplica(id, decisions), id == failed_);
    // A worker may report any number: a difference of unsigned ones does not overflow.
    change.taken_bytes = static_cast<int64_t>(TakenBytes(*attempt) - taken);
    if (change.ended) {
      change.held = at - attempt->launched_at;
      if (change.state != AttemptState::kCommitted) change.taken_bytes = static_cast<int64_t>(0 - taken);
      for (const sched::Attempt& other : state.FindTask(id.task)->attempts) {
        change.cloned = change.cloned || other.cause == Cause::kClone;
        change.lent = change.lent || other.cause == Cause::kOpportunistic;
      }
    } else if (change.taken_bytes == 0) {
      continue;
    }
    changes.attempts.push_back(change);
  }
  for (const Replica& replica : inventory_) {
    const sched::Task* task = state.FindTask(replica.output.task);
    if (task == nullptr) continue;
    const auto asked = [&](const Replica& a) { return a.output == replica.output && a.attempt == replica.attempt; };
    const sched::ReplicaPlace place{replica.output.generation, replica.attempt, replica.worker, replica.incarnation};
    if (std::any_of(asked_.begin(), asked_.end(), asked) &&
        std::find(task->replicas.begin(), task->replicas.end(), place) != task->replicas.end()) {
      changes.made.push_back(replica);
    }
  }
  for (const Replica& from : asked_) {
    if (lost_.valid() && !Requested(state, lost_, from.output)) changes.not_made.push_back(from);
  }
  return changes;
}

std::vector<Replica> RequestedReplicas(const sched::State& state, WorkerId of) {
  std::vector<Replica> all;
  for (const auto& [id, job] : state.jobs()) {
    for (const sched::AskedReplica& asked : job.asked) {
      if (asked.to == of) all.push_back({{{id, asked.stage, asked.task}, asked.generation}, asked.attempt, {}, 0});
    }
  }
  return all;
}

bool Requested(const sched::State& state, WorkerId of, const OutputId& output) {
  const sched::Job* job = state.FindJob(output.task.job);
  return job != nullptr && std::any_of(job->asked.begin(), job->asked.end(), [&](const sched::AskedReplica& asked) {
           return asked.to == of && asked.stage == output.task.stage && asked.task == output.task.task &&
                  asked.generation == output.generation;
         });
}

}  // namespace mr::master
