#include "master/sched/fold/core.h"

#include <algorithm>

#include "common/base/check.h"
#include "master/sched/job_graph.h"

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
  moves = {};
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
  const bool restart = state_.config().known;
  state_.SetConfig(e, now_);
  if (restart) {
    // The instants go on by the wall clock, which may have been set meanwhile. No second attempt may depend on it.
    unended_.Prolong(now_ + state_.config().lost_wait);
    state_.SetTimer(kCoreTimer, kRestartTimer, now_ + kRestartQuiet);
    Emit(WakeAt{kCoreTimer, kRestartTimer, now_ + kRestartQuiet});
  }
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
  if (armed == nullptr || *armed > now_) return;  // the policy has set the timer to a later instant
  state_.EraseTimer(e.policy, e.id);
  if (e.policy == kMovesOwner) {
    moves.look = true;
    return;
  }
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
  unended_.Release(now_);
}

void Core::On(const LeaseSet& e) {
  if (e.wait.ns > 0) state_.SetLease(e.wait);
}

void Core::On(const JobSubmitted& e) {
  if (state_.FindJob(e.job) != nullptr) return;  // a repeat
  state_.AddJob(e, now_);
  const Status status = CheckGraph(e.graph);
  if (!status.ok()) {
    Fail(e.job, false, "the job cannot be run: " + status.message(), {ReasonCode::kPlanFailed, "", {}});
    return;
  }
  PlanReadyStages(e.job);
}

void Core::PlanReadyStages(JobId id) {
  const Job& job = *state_.FindJob(id);
  for (uint32_t s = 0; s < job.stages.size(); ++s) {
    if (job.stages[s].plan_state != PlanState::kNotAsked || !UpstreamPlanned(job, s)) continue;
    double edges = 0;
    for (const StageInput& input : job.graph.stages[s].inputs) edges += input.is_edge ? 1 : 0;
    state_.AskPlan({id, s});
    Emit(PlanStage{id, s, {ReasonCode::kStageReady, "", {edges}}});
  }
}

void Core::On(const StagePlanned& e) {
  const Job* job = state_.FindJob(e.job);
  const Stage* stage = state_.FindStage({e.job, e.stage});
  if (stage == nullptr || !job->running() || stage->plan_state != PlanState::kAsked) return;
  const std::string& name = job->graph.stages[e.stage].name;
  const std::string error = e.error.empty() ? CheckPlan(*job, e) : e.error;
  if (!error.empty()) {
    Fail(e.job, false, "stage '" + name + "' cannot be planned: " + error,
         {ReasonCode::kPlanFailed, "", {static_cast<double>(e.stage)}});
    return;
  }
  state_.SetPlan(e, now_);
  PlanReadyStages(e.job);
  CommitIfComplete(e.job);  // a stage may have no tasks at all
}

void Core::On(const OperatorsKnown& e) {
  const Job* job = state_.FindJob(e.job);
  if (job == nullptr || !job->running()) return;
  for (const uint32_t s : e.indeterminate) {
    if (s < job->stages.size()) MarkIndeterminateStage({e.job, s});
  }
}

void Core::On(const JobKillAsked& e) {
  const Job* job = state_.FindJob(e.job);
  if (job == nullptr || !job->running()) return;
  Fail(e.job, true, e.why, {ReasonCode::kAskedByUser, "", {}});
}

void Core::On(const JobGivenUp& e) {
  const Job* job = state_.FindJob(e.job);
  if (job == nullptr || !job->running()) return;
  Fail(e.job, false, e.why, {ReasonCode::kGivenUp, "", {}});
}

void Core::On(const JobTakenOver& e) {
  const JobId job_id = e.submitted.job;
  if (state_.FindJob(job_id) != nullptr) return;  // a repeat
  state_.AddJob(e.submitted, now_);
  state_.EditJob(job_id, [&](Job& j) { j.restarts_at_submit = state_.config().restarts - e.restarts; });
  const Job* job = state_.FindJob(job_id);
  const Status status = CheckGraph(e.submitted.graph);
  std::string error = status.ok() ? "" : status.message();
  for (uint32_t s = 0; s < job->stages.size() && error.empty(); ++s) {
    const bool there = s < e.plans.size() && e.plans[s].job == job_id && e.plans[s].stage == s;
    error = !there                     ? "a stage is without its plan"
            : e.plans[s].error.empty() ? CheckPlan(*job, e.plans[s])
                                       : e.plans[s].error;
    if (error.empty()) state_.SetPlan(e.plans[s], now_);
  }
  if (!error.empty()) {
    Fail(job_id, false, "another release of the master took the job over and cannot run it: " + error,
         {ReasonCode::kPlanFailed, "", {}});
    return;
  }
  for (const KeptOutput& output : e.outputs) {
    const TaskId id{job_id, output.stage, output.task};
    const Task* task = state_.FindTask(id);
    if (task == nullptr || task->state != TaskState::kPending || !task->attempts.empty()) continue;
    state_.KeepOutput(id, output);
    if (job->graph.stages[output.stage].is_final) continue;
    for (const Replica& replica : output.replicas) {
      if (!Current(replica.worker, replica.incarnation)) continue;
      state_.AddReplica(id, {replica.output.generation, replica.attempt, replica.worker, replica.incarnation});
    }
  }
  // Its earlier attempts are not known.
  for (uint32_t s = 0; s < job->stages.size(); ++s) {
    for (uint32_t t = 0; t < job->stages[s].tasks.size(); ++t) {
      unended_.Add({{job_id, s, t}, 0}, {}, 0, now_ + state_.config().lost_wait);
    }
  }
  // Readers first: a task that has to run again needs its inputs.
  for (uint32_t s = static_cast<uint32_t>(job->stages.size()); s-- > 0;) {
    for (uint32_t t = 0; t < job->stages[s].tasks.size(); ++t) {
      const Task& task = job->stages[s].tasks[t];
      if (task.state != TaskState::kCommitted || !task.replicas.empty()) continue;
      if (!job->graph.stages[s].is_final && state_.Needed(*job, {job_id, s, t})) ReturnTask({job_id, s, t});
    }
  }
  CommitIfComplete(job_id);
}

void Core::CommitIfComplete(JobId id) {
  const Job& job = *state_.FindJob(id);
  if (!job.running()) return;
  for (uint32_t s = 0; s < job.stages.size(); ++s) {
    if (job.graph.stages[s].is_final && !job.stages[s].complete()) return;
  }
  Emit(CommitJob{id, {ReasonCode::kJobEnded, "", {}}});
  End(id, JobState::kSucceeded, "");
}

void Core::Fail(JobId id, bool killed, const std::string& message, Reason reason) {
  const Job* job = state_.FindJob(id);
  if (job == nullptr || !job->running()) return;
  Emit(FailJob{id, killed, message, std::move(reason)});
  End(id, killed ? JobState::kKilled : JobState::kFailed, message);
}

void Core::End(JobId id, JobState state, const std::string& message) {
  unended_.Forget(id);
  state_.EndJob(id, state, message, now_);
  ended.push_back(id);
  const Job& job = *state_.FindJob(id);
  std::vector<AttemptId> live;
  for (uint32_t s = 0; s < job.stages.size(); ++s) {
    for (const auto& [task, number] : job.stages[s].active) live.push_back({{id, s, task}, number});
  }
  for (const AttemptId& attempt : live) KillNow(attempt, {ReasonCode::kJobEnded, "", {}});
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
