// How attempts start, move, fail, are refused and are killed. How they finish: apply_commit.cc.
#include <algorithm>

#include "common/base/prefetch.h"
#include "master/sched/fold/core.h"
#include "master/sched/job_graph.h"

namespace mr::sched {

namespace {

// Most failures of one task that are not its own fault. Beyond it the job fails, since repetition does not help. A
// guess; far above what a dying cluster causes.
constexpr uint32_t kMaxOtherFailures = 100;
// Number of workers on which the environment must fail a task before these workers are not the cause. A guess.
constexpr size_t kSickWorkers = 3;
// Longest back-offs: 2^shift offer periods; a back-off doubles each time. For a task: 1.6 s after failures of the
// environment, so that a full disk is reported within seconds; else 6.4 s. For a worker that refuses: 6.4 s.
constexpr uint32_t kMaxEnvironmentShift = 4;
constexpr uint32_t kMaxShift = 6;

Duration Backoff(Duration period, uint32_t count, uint32_t max_shift) {
  return period * (int64_t{1} << std::min(std::max(count, 1u) - 1, max_shift));
}

TaskLetter LetterOf(const StageSpec& spec) {
  return spec.slot_kind == SlotKind::kMap ? TaskLetter::kMap : TaskLetter::kReduce;
}

std::string FailureText(const StageSpec& spec, const AttemptId& id, WorkerId worker, uint32_t count,
                        const std::string& message) {
  const std::string attempt = Name(id, LetterOf(spec));
  return "task " + std::to_string(id.task.task) + " of stage '" + spec.name + "' failed " + std::to_string(count) +
         (count == 1 ? " time" : " times") + ", the last time as " + attempt + " on " + Name(worker) +
         " (its log: mrctl logs " + attempt + "): " + message;
}

bool Charged(FailureKind kind) {
  return kind == FailureKind::kUser || kind == FailureKind::kEnvironment || kind == FailureKind::kUserFinal;
}

// Returns true if a policy launched the attempt beside another one.
bool Extra(const Attempt& a) {
  return a.cause == Cause::kClone || a.cause == Cause::kOpportunistic || a.cause == Cause::kSpeculative;
}

// Returns true if a clone or speculative attempt failed beside an attempt that goes on, or beside one whose failure
// was charged. Without it the task would not have met this failure, or not twice.
//
// The last of the attempts that ran beside each other is charged if no other was. An attempt that began when `free` of
// them had failed uncharged is charged, too (adr/0005).
bool FailedBeside(const Task& task, const Attempt& a, uint32_t free) {
  if (!Extra(a)) return false;
  const auto failed = [&](const Attempt& other) {
    return other.number != a.number && other.state == AttemptState::kFailed && Charged(other.failure);
  };
  if (task.live > 0) {
    const auto before = std::count_if(task.attempts.begin(), task.attempts.end(), [&](const Attempt& other) {
      return failed(other) && Extra(other) && other.generation == a.generation && other.ended_at <= a.launched_at;
    });
    return before < static_cast<std::ptrdiff_t>(free);
  }
  return std::any_of(task.attempts.begin(), task.attempts.end(), [&](const Attempt& other) {
    return failed(other) && !Extra(other) && other.ended_at >= a.launched_at;
  });
}

// Returns the failure kind of an attempt that was asked to end.
FailureKind KindOfEnd(const Attempt& a) {
  return a.failure == FailureKind::kPreempted ? FailureKind::kPreempted : FailureKind::kKilled;
}

}  // namespace

const Attempt* Core::Holding(const AttemptId& id, WorkerId worker, Incarnation incarnation) const {
  const Attempt* a = state_.FindAttempt(id);
  if (a == nullptr || !a->holds_slot()) return nullptr;
  return a->worker == worker && a->incarnation == incarnation ? a : nullptr;
}

void Core::KillNow(const AttemptId& id, Reason reason) {
  const Attempt* a = state_.FindAttempt(id);
  if (a == nullptr || !a->live()) return;
  // The kind of the end is recorded here, since the worker does not know why it is asked. The reason is not in the
  // state.
  if (reason.code == ReasonCode::kSlotWanted || reason.code == ReasonCode::kWorkerDrains) {
    state_.EditAttempt(id, [](Attempt& at) { at.failure = FailureKind::kPreempted; });
  }
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

void Core::Charge(const AttemptId& attempt, FailureKind kind, const std::string& message) {
  const TaskId& id = attempt.task;
  const Job& job = *state_.FindJob(id.job);
  // A failed remake of a committed output costs nothing.
  if (!job.running() || state_.FindTask(id)->state == TaskState::kCommitted) return;
  const StageSpec& spec = job.graph.stages[id.stage];
  const uint32_t of_user = std::max(1u, job.max_attempts != 0 ? job.max_attempts : spec.max_failures);
  const uint32_t free = std::max(of_user, kFailuresOfCloned);
  const bool final = kind == FailureKind::kUserFinal;
  if (!final && Charged(kind) && FailedBeside(*state_.FindTask(id), *state_.FindAttempt(attempt), free)) return;
  const bool user = kind == FailureKind::kUser || final, environment = kind == FailureKind::kEnvironment;
  state_.EditTask(id, [&](Task& t) {
    ++(user ? t.failures : t.other_failures);
    if (environment) ++t.environment_failures;
  });
  const Task& task = *state_.FindTask(id);
  const bool hopeless = environment && Hopeless(spec, task);
  const uint32_t count = hopeless ? task.environment_failures : user ? task.failures : task.other_failures;
  const uint32_t limit = final ? 1 : hopeless ? kMaxEnvironmentFailures : !user ? kMaxOtherFailures : of_user;
  if (count >= limit) {
    const WorkerId worker = state_.FindAttempt(attempt)->worker;
    Fail(id.job, false, FailureText(spec, attempt, worker, count, message),
         {ReasonCode::kTooManyFailures, "", {double(count), double(limit)}});
  }
}

bool Core::Hopeless(const StageSpec& spec, const Task& task) const {
  if (task.environment_failures < kMaxEnvironmentFailures) return false;
  std::set<WorkerId> sick;
  std::set<std::pair<WorkerId, Incarnation>> lives;
  for (const FailedOn& f : task.failed_on) {
    if (!f.environment) continue;
    sick.insert(f.worker);
    lives.emplace(f.worker, f.incarnation);
  }
  if (sick.size() >= kSickWorkers) return true;
  const auto& workers = state_.workers();
  return std::none_of(workers.begin(), workers.end(), [&](const auto& w) {
    return state_.MayEverRun(spec, w.second) && lives.count({w.first, w.second.incarnation}) == 0;
  });
}

void Core::NoteFailedOn(const AttemptId& attempt, FailureKind kind) {
  const Attempt& a = *state_.FindAttempt(attempt);
  state_.EditTask(attempt.task, [&](Task& t) {
    auto it = std::find_if(t.failed_on.begin(), t.failed_on.end(),
                           [&](const FailedOn& f) { return f.worker == a.worker && f.incarnation == a.incarnation; });
    if (it == t.failed_on.end()) it = t.failed_on.insert(it, {a.worker, a.incarnation, 0, false});
    ++it->times;
    it->environment = it->environment || kind == FailureKind::kEnvironment;
    if (Charged(kind) && TimesFailed(t) >= kFailuresOfCloned) t.wanted = 1;
  });
}

void Core::HoldBack(const TaskId& id, FailureKind kind) {
  const Task& task = *state_.FindTask(id);
  if (!state_.FindJob(id.job)->running() || task.state == TaskState::kCommitted) return;
  const uint32_t count = kind == FailureKind::kUser ? task.failures : task.other_failures;
  const uint32_t shift = kind == FailureKind::kEnvironment ? kMaxEnvironmentShift : kMaxShift;
  const Instant until = now_ + Backoff(state_.config().offer_period, count, shift);
  state_.HoldTask(id, until);
  WakeCoreAt(until);
}

// The worker starts attempts again, so its earlier refusals no longer count.
void Core::StartsAgain(WorkerId id) {
  if (state_.FindWorker(id)->refused_in_row == 0) return;
  state_.EditWorker(id, [](Worker& w) { w.refused_in_row = 0; });
}

void Core::On(const AttemptStarted& e) {
  Fetch(e.attempt, e.worker);
  const Attempt* a = Holding(e.attempt, e.worker, e.incarnation);
  if (a == nullptr) {
    if (!Current(e.worker, e.incarnation)) return;
    Emit(Kill{e.attempt, e.worker, e.incarnation, {ReasonCode::kStale, "", {}}});
    return;
  }
  if (a->state != AttemptState::kLaunched) return;
  StartsAgain(e.worker);
  state_.EditAttempt(e.attempt, [&](Attempt& at) {
    at.state = AttemptState::kRunning;
    at.started_at = now_;
  });
  changed.push_back(e.attempt);
}

// Prefetches what an event about an attempt reads and writes. With 10,000 workers and a million tasks, none of it is
// near.
void Core::Fetch(const AttemptId& id, WorkerId worker) const {
  const Worker* w = state_.FindWorker(worker);
  if (w != nullptr) AskMemory(w, sizeof *w);
  const Task* task = state_.FindTask(id.task);
  if (task == nullptr) return;
  AskMemory(task, sizeof *task);
  const Stage* stage = state_.FindStage(id.task.stage_id());
  AskMemory(&stage->statistics, sizeof stage->statistics);
  if (!task->attempts.empty()) AskMemory(&task->attempts.back(), sizeof(Attempt));
  if (w == nullptr) return;
  w->replicas.Fetch();
  if (!w->attempts.empty()) __builtin_prefetch(&*w->attempts.begin());
}

// The attempts of one worker lie far apart in memory. Waiting for all of them at once costs half of waiting for one
// after the other.
void Core::Fetch(const AttemptProgress& e) const {
  std::vector<const Task*> tasks;
  for (const ProgressReport& r : e.reports) {
    const Task* task = state_.FindTask(r.attempt.task);
    if (task == nullptr) continue;
    __builtin_prefetch(&task->attempts);
    tasks.push_back(task);
  }
  for (const Task* task : tasks) {
    if (task->attempts.empty()) continue;
    AskMemory(&task->attempts.back(), sizeof(Attempt));
  }
  for (const Task* task : tasks) {
    if (task->attempts.empty()) continue;
    for (const Sample& sample : task->attempts.back().samples) __builtin_prefetch(&sample);
  }
}

void Core::On(const AttemptProgress& e) {
  Fetch(e);
  for (const ProgressReport& r : e.reports) {
    const Attempt* a = Holding(r.attempt, e.worker, e.incarnation);
    if (a == nullptr || !a->live()) continue;
    if (a->state == AttemptState::kLaunched) On(AttemptStarted{r.attempt, e.worker, e.incarnation});
    state_.AddSample(r.attempt, {now_, r.phase, r.taken_bytes, r.total_bytes, r.records}, r.inputs_done);
    changed.push_back(r.attempt);
  }
}

void Core::On(const AttemptFailed& e) {
  unended_.Remove(e.attempt, e.worker, e.incarnation);
  const Attempt* a = Holding(e.attempt, e.worker, e.incarnation);
  if (a == nullptr) return;
  if (!a->live()) {  // it was being killed anyway
    EndAttempt(e.attempt, AttemptState::kKilled, KindOfEnd(*a));
    return;
  }
  StartsAgain(e.worker);
  EndAttempt(e.attempt, AttemptState::kFailed, e.kind);
  NoteFailedOn(e.attempt, e.kind);
  Charge(e.attempt, e.kind, e.message);
  HoldBack(e.attempt.task, e.kind);
}

void Core::On(const AttemptRefused& e) {
  unended_.Remove(e.attempt, e.worker, e.incarnation);
  const Attempt* a = Holding(e.attempt, e.worker, e.incarnation);
  if (a == nullptr) return;
  const bool live = a->live();
  EndAttempt(e.attempt, AttemptState::kDiscarded, FailureKind::kPreempted);
  state_.EditWorker(e.worker, [live](Worker& w) {
    ++w.refused;
    w.refused_in_row += live;
  });
  if (!live) return;
  // Holds the worker back: offered again at the same instant, the scheduler and the worker would spin.
  const Instant until =
      now_ + Backoff(state_.config().offer_period, state_.FindWorker(e.worker)->refused_in_row, kMaxShift);
  state_.HoldWorker(e.worker, until);
  WakeCoreAt(until);
}

// The input is at fault, and neither the worker nor the task: nothing is charged, and the worker is offered again.
void Core::On(const InputsMissing& e) {
  for (const AttemptId& id : e.attempts) {
    const Attempt* a = state_.FindAttempt(id);
    if (a == nullptr || !a->holds_slot()) continue;
    EndAttempt(id, AttemptState::kDiscarded, FailureKind::kPreempted);
  }
  const Job* job = state_.FindJob(e.job);
  if (job == nullptr || !job->running()) return;
  const Instant until = now_ + e.hold;
  bool held = false;
  for (const uint32_t t : e.tasks) {
    const TaskId id{e.job, e.stage, t};
    const Task* task = state_.FindTask(id);
    if (task == nullptr || task->state == TaskState::kCommitted) continue;
    if (e.hold.ns == 0) {
      state_.ReleaseTask(id);
    } else if (task->held_until < until) {
      state_.HoldTask(id, until);
      held = true;
    }
  }
  if (held) WakeCoreAt(until);
}

void Core::On(const AttemptKilled& e) {
  unended_.Remove(e.attempt, e.worker, e.incarnation);
  const Attempt* a = Holding(e.attempt, e.worker, e.incarnation);
  if (a == nullptr) return;
  const bool asked = !a->live();
  EndAttempt(e.attempt, AttemptState::kKilled, asked ? KindOfEnd(*a) : FailureKind::kKilled);
  if (asked) return;
  Charge(e.attempt, FailureKind::kKilled, "killed by its worker");
  HoldBack(e.attempt.task, FailureKind::kKilled);
}

void Core::On(const FetchDone& e) {
  state_.EndRead(e.reader, e.from.output.task);
  const Attempt* reader = state_.FindAttempt(e.reader);
  if (reader != nullptr && reader->by_bind) state_.CountTransfer(e.readers, e.bytes, e.took);
  if (state_.FindWorker(e.from.worker) == nullptr) return;
  state_.EditWorker(e.from.worker, [&](Worker& w) {
    w.fetched_bytes += e.bytes;
    w.fetch_us += static_cast<uint64_t>(e.took.ns / 1000);
  });
}

void Core::On(const FetchFailed& e) {
  if (state_.FindWorker(e.from.worker) == nullptr) return;
  state_.EditWorker(e.from.worker, [](Worker& w) { ++w.fetch_failures; });
  suspected.emplace_back(e.from, e.reader);
}

}  // namespace mr::sched
