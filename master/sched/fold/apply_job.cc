// How jobs are submitted, planned stage by stage, and ended.
#include "master/sched/fold/core.h"
#include "master/sched/job_graph.h"

namespace mr::sched {

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
      MayStillRun({{job_id, s, t}, 0}, {}, 0, now_ + state_.config().lost_wait);
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
  ForgetUnended(id);
  state_.EndJob(id, state, message, now_);
  ended.push_back(id);
  const Job& job = *state_.FindJob(id);
  std::vector<AttemptId> live;
  for (uint32_t s = 0; s < job.stages.size(); ++s) {
    for (const auto& [task, number] : job.stages[s].active) live.push_back({{id, s, task}, number});
  }
  for (const AttemptId& attempt : live) KillNow(attempt, {ReasonCode::kJobEnded, "", {}});
}

}  // namespace mr::sched
