// Attempts start, move, fail, are refused and killed. How they finish: apply_commit.cc.
#include <algorithm>

#include "master/sched/core.h"
#include "master/sched/job_graph.h"

namespace mr::sched {

namespace {

// Failures of one task that are not its own fault, until the job fails all the same: something is
// wrong that repetition does not mend. A guess; far above what a dying cluster causes.
constexpr uint32_t kMaxOtherFailures = 100;
// Back-off of such a task: offer periods, doubled each time, at most 2^6 of them (6.4 s).
constexpr uint32_t kMaxBackoffShift = 6;

}  // namespace

const Attempt* Core::Holding(const AttemptId& id, WorkerId worker, Incarnation incarnation) const {
  const Attempt* a = state_.FindAttempt(id);
  if (a == nullptr || !a->holds_slot()) return nullptr;
  return a->worker == worker && a->incarnation == incarnation ? a : nullptr;
}

void Core::KillNow(const AttemptId& id, Reason reason) {
  const Attempt* a = state_.FindAttempt(id);
  if (a == nullptr || !a->live()) return;
  Emit(Kill{id, a->worker, a->incarnation, std::move(reason)});
  state_.MoveAttempt(id, AttemptState::kEnding, now_);
  changed.push_back(id);
}

void Core::EndAttempt(const AttemptId& id, AttemptState state, FailureKind kind) {
  state_.EditAttempt(id, [&](Attempt& a) { a.failure = kind; });
  const WorkerId worker = state_.FindAttempt(id)->worker;
  state_.MoveAttempt(id, state, now_);
  changed.push_back(id);
  freed.insert(worker);
}

void Core::Charge(const TaskId& id, FailureKind kind, const std::string& message) {
  const Job& job = *state_.FindJob(id.job);
  if (!job.running()) return;
  const StageSpec& spec = job.graph.stages[id.stage];
  const bool user = kind == FailureKind::kUser;
  state_.EditTask(id, [&](Task& t) { ++(user ? t.failures : t.other_failures); });
  const Task& task = *state_.FindTask(id);
  const uint32_t count = user ? task.failures : task.other_failures;
  const uint32_t limit =
      !user ? kMaxOtherFailures : std::max(1u, job.max_attempts != 0 ? job.max_attempts : spec.max_failures);
  if (count >= limit) {
    const std::string where = "task " + std::to_string(id.task) + " of stage '" + spec.name + "'";
    Fail(id.job, false,
         where + " failed " + std::to_string(count) + (count == 1 ? " time" : " times") +
             "; the last time: " + message,
         {ReasonCode::kTooManyFailures, "", {double(count), double(limit)}});
    return;
  }
  // The loss of a worker cannot spin; whatever else is not the user's fault can.
  if (user || kind == FailureKind::kLost || task.state == TaskState::kCommitted) return;
  const uint32_t shift = std::min(count - 1, kMaxBackoffShift);
  const Instant until = now_ + state_.config().offer_period * (int64_t{1} << shift);
  state_.HoldTask(id, until);
  WakeCoreAt(until);
}

void Core::On(const AttemptStarted& e) {
  const Attempt* a = Holding(e.attempt, e.worker, e.incarnation);
  if (a == nullptr) {
    if (!Current(e.worker, e.incarnation)) return;
    Emit(Kill{e.attempt, e.worker, e.incarnation, {ReasonCode::kStale, "", {}}});
    return;
  }
  if (a->state != AttemptState::kLaunched) return;
  state_.EditAttempt(e.attempt, [&](Attempt& at) {
    at.state = AttemptState::kRunning;
    at.started_at = now_;
  });
  changed.push_back(e.attempt);
}

void Core::On(const AttemptProgress& e) {
  for (const ProgressReport& r : e.reports) {
    const Attempt* a = Holding(r.attempt, e.worker, e.incarnation);
    if (a == nullptr || !a->live()) continue;
    if (a->state == AttemptState::kLaunched) On(AttemptStarted{r.attempt, e.worker, e.incarnation});
    state_.AddSample(r.attempt, {now_, r.phase, r.taken_bytes, r.total_bytes, r.records},
                     r.inputs_done);
    changed.push_back(r.attempt);
  }
}

void Core::On(const AttemptFailed& e) {
  const Attempt* a = Holding(e.attempt, e.worker, e.incarnation);
  if (a == nullptr) return;
  if (!a->live()) {  // it was being killed anyway
    EndAttempt(e.attempt, AttemptState::kKilled, FailureKind::kKilled);
    return;
  }
  EndAttempt(e.attempt, AttemptState::kFailed, e.kind);
  Charge(e.attempt.task, e.kind, e.message);
}

void Core::On(const AttemptRefused& e) {
  const Attempt* a = Holding(e.attempt, e.worker, e.incarnation);
  if (a == nullptr) return;
  const bool live = a->live();
  EndAttempt(e.attempt, AttemptState::kDiscarded, FailureKind::kPreempted);
  if (!live) return;
  // Not the same worker again at this instant, or the two would spin.
  const Instant until = now_ + state_.config().offer_period;
  state_.HoldWorker(e.worker, until);
  WakeCoreAt(until);
}

void Core::On(const AttemptKilled& e) {
  const Attempt* a = Holding(e.attempt, e.worker, e.incarnation);
  if (a == nullptr) return;
  const bool asked = !a->live();
  EndAttempt(e.attempt, AttemptState::kKilled, FailureKind::kKilled);
  if (!asked) Charge(e.attempt.task, FailureKind::kKilled, "killed by its worker");
}

void Core::On(const FetchDone& e) {
  if (state_.FindWorker(e.from.worker) == nullptr) return;
  state_.EditWorker(e.from.worker, [&](Worker& w) {
    w.fetched_bytes += e.bytes;
    w.fetch_us += static_cast<uint64_t>(e.took.ns / 1000);
  });
}

void Core::On(const FetchFailed& e) {
  if (state_.FindWorker(e.from.worker) == nullptr) return;
  state_.EditWorker(e.from.worker, [](Worker& w) { ++w.fetch_failures; });
}

}  // namespace mr::sched
