#include "master/sched/fold/core.h"

#include <algorithm>

#include "common/base/check.h"

namespace mr::sched {

void Core::Begin(Instant now, std::vector<Decision>* out) {
  MR_CHECK(now >= now_, "time never goes back");
  now_ = now;
  out_ = out;
  changed.clear();
  freed.clear();
  due.clear();
  suspected.clear();
  not_made.clear();
  ended.clear();
  to_tell.clear();
  forecast.clear();
  offer_all = false;
  config_changed = false;
  shares_changed = false;
}

void Core::Fold(const Event& event) {
  state_.CountFold();
  std::visit([this](const auto& e) { On(e); }, event);
  if (!std::holds_alternative<AttemptProgress>(event)) DropSpares();
}

void Core::Fold(const Plan& plan) {
  const auto remembers = [](const Edit& e) {
    return std::holds_alternative<Remember>(e) || std::holds_alternative<WakeAt>(e);
  };
  if (!std::all_of(plan.edits().begin(), plan.edits().end(), remembers)) state_.CountFold();
  for (const Edit& edit : plan.edits()) std::visit([this](const auto& e) { Do(e); }, edit);
}

void Core::WakeCoreAt(Instant at) {
  const Instant* armed = state_.FindTimer(kCoreTimer, 0);
  if (armed != nullptr && *armed <= at) return;
  state_.SetTimer(kCoreTimer, 0, at);
  Emit(WakeAt{kCoreTimer, 0, at});
}

void Core::On(const ConfigChanged& e) {
  state_.SetConfig(e, now_);
  config_changed = true;
  offer_all = true;
}

void Core::On(const QueueSet& e) {
  if (!(e.weight > 0)) return;
  state_.SetQueue(e);
  offer_all = true;
}

void Core::On(const ProfileLoaded& e) {
  const Job* job = state_.FindJob(e.job);
  if (job == nullptr || !job->running() || !e.prediction.Valid(job->stages.size())) return;
  state_.SetPrediction(e);
  forecast.push_back(e.job);
}

void Core::On(const JobSet& e) {
  const Job* job = state_.FindJob(e.job);
  if (job == nullptr || !job->running()) return;
  const bool anew = e.deadline != job->deadline || e.elapsed.ns > 0;
  state_.SetWishes(e, now_);
  if (anew)
    forecast.push_back(e.job);
  else
    offer_all = true;
}

void Core::On(const TimerDue& e) {
  const Instant* armed = state_.FindTimer(e.policy, e.id);
  if (armed == nullptr || *armed > now_) return;  // replaced by a later wish
  state_.EraseTimer(e.policy, e.id);
  if (e.policy != kCoreTimer) {
    due.emplace_back(e.policy, e.id);
    return;
  }
  offer_all = true;
  while (!state_.held_workers().empty() && state_.held_workers().begin()->first <= now_) {
    state_.ReleaseWorker(state_.held_workers().begin()->second);
  }
  while (!state_.held_tasks().empty() && state_.held_tasks().begin()->first <= now_) {
    const TaskId task = state_.held_tasks().begin()->second;
    state_.ReleaseTask(task);
  }
  if (!state_.held_workers().empty()) WakeCoreAt(state_.held_workers().begin()->first);
  if (!state_.held_tasks().empty()) WakeCoreAt(state_.held_tasks().begin()->first);
  ReleaseUnended();
}

void Core::Do(const Launch& edit) {
  const TaskId& task = edit.attempt.task;
  const Job& job = *state_.FindJob(task.job);
  const uint32_t number = state_.AddAttempt(task, edit.worker, edit.cause, now_, edit.by_bind);
  MR_CHECK(job.running(), "a plan launches only tasks of running jobs");
  Launch launch = edit;
  launch.attempt.number = number;
  changed.push_back(launch.attempt);
  if (launch.by_bind) to_tell.push_back(launch.attempt);
  Emit(std::move(launch));
}

void Core::Do(const Kill& edit) { KillNow(edit.attempt, edit.reason); }

void Core::Do(const TakeBack& edit) {
  state_.MarkTakenBack(edit.attempt);
  state_.MoveAttempt(edit.attempt, AttemptState::kEnding, now_);
  changed.push_back(edit.attempt);
  Emit(edit);
}

void Core::Do(const Bind& edit) {
  const TaskId& output = edit.replica.output.task;
  if (state_.FindAttempt(edit.reader)->by_bind) {
    const ReplicaPlace replica{edit.replica.output.generation, edit.replica.attempt, edit.replica.worker,
                               edit.replica.incarnation};
    state_.Bind(edit.reader, output, replica, edit.exclusive, now_);
  }
  Emit(edit);
}

void Core::Do(const ReplicateOutput& edit) {
  state_.AskReplica(edit.from, edit.to);
  Emit(edit);
}

void Core::Do(const SetShare& edit) {
  if (state_.FindJob(edit.job)->share != edit.slots) {
    state_.SetShare(edit.job, edit.slots);
    shares_changed = true;
  }
  Emit(edit);
}

void Core::Do(const Remember& edit) {
  const FactKey key{edit.policy, edit.scope, edit.id, edit.name};
  if (edit.forgotten)
    state_.EraseFact(key);
  else
    state_.SetFact(key, edit.value);
  Emit(edit);
}

void Core::Do(const WakeAt& edit) {
  state_.SetTimer(edit.policy, edit.id, edit.at);
  Emit(edit);
}

void Core::Do(const Spare& edit) {
  state_.EditAttempt(edit.attempt, [](Attempt& a) { a.spared = true; });
  Emit(edit);
}

void Core::Do(const Want& edit) {
  state_.EditTask(edit.task, [&](Task& task) {
    if (edit.attempts > 0) task.wanted = edit.attempts;
    if (edit.replicas > 0) task.wanted_replicas = edit.replicas;
  });
}

}  // namespace mr::sched
