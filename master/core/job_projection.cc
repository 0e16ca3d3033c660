#include "master/core/job_projection.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "common/base/check.h"

namespace mr::master {

std::vector<FileOutput> JobProjection::Outputs() const {
  std::vector<FileOutput> all;
  for (size_t s = 0; s < stages.size(); ++s) {
    if (!spec.stages[s].is_final()) continue;
    for (const TaskView& task : stages[s].tasks) {
      if (!task.output) continue;
      std::vector<FileOutput> files = task.output.Files();
      std::move(files.begin(), files.end(), std::back_inserter(all));
    }
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return all;
}

TaskView* JobProjection::Find(const TaskId& task) {
  const bool exists = task.job == id && task.stage < stages.size() && task.task < stages[task.stage].tasks.size();
  return exists ? &stages[task.stage].tasks[task.task] : nullptr;
}

const ReplicaView* JobProjection::Find(const Replica& replica) const {
  const TaskView* task = Find(replica.output.task);
  if (task == nullptr) return nullptr;
  const auto it = std::find_if(task->replicas.begin(), task->replicas.end(),
                               [&](const ReplicaView& r) { return r.replica == replica; });
  return it == task->replicas.end() ? nullptr : &*it;
}

JobProjection SubmittedJob(const EventRecord& record, uint64_t sequence) {
  SubmitExtra submit;
  MR_CHECK(DecodeSubmit(record.extra, &submit) && record.spec != nullptr, "a job without its spec");
  JobProjection job;
  job.id = std::get<sched::JobSubmitted>(record.stamped.event).job;
  job.spec_bytes = std::move(submit.spec);
  job.spec = *record.spec;
  job.submission_id = submit.submission_id;
  job.owner = std::move(submit.owner);
  job.wall_ms = submit.wall_ms;
  job.plan = std::move(submit.plan);
  FillSplits(&job.plan);
  job.submitted = record.stamped.at;
  job.submit_sequence = sequence;
  job.stages.resize(job.spec.stages.size());
  return job;
}

void Apply(const sched::StagePlanned& event, JobProjection* job) {
  if (event.stage >= job->stages.size() || !event.error.empty()) return;
  StageView& stage = job->stages[event.stage];
  stage.planned = true;
  // The plan of another release may have had more tasks.
  for (size_t t = event.tasks.size(); t < stage.tasks.size(); ++t) stage.committed -= stage.tasks[t].committed ? 1 : 0;
  stage.tasks.resize(event.tasks.size());
  StagePlan& plan = job->plan.stages[event.stage];
  plan.tasks = static_cast<uint32_t>(event.tasks.size());
  plan.slices.clear();
  plan.slices.reserve(event.tasks.size());
  for (const sched::TaskPlan& task : event.tasks) plan.slices.push_back(task.slices);
}

void Apply(const sched::JobTakenOver& event, JobProjection* job) {
  for (const sched::StagePlanned& plan : event.plans) Apply(plan, job);
  std::set<std::pair<uint32_t, uint32_t>> kept;
  for (const sched::KeptOutput& output : event.outputs) kept.emplace(output.stage, output.task);
  for (uint32_t s = 0; s < job->stages.size(); ++s) {
    StageView& stage = job->stages[s];
    for (uint32_t t = 0; t < stage.tasks.size(); ++t) {
      if (!stage.tasks[t].committed || kept.contains({s, t})) continue;
      stage.tasks[t].committed = false;
      --stage.committed;
    }
  }
}

void Apply(const sched::JobSet& event, JobProjection* job) {
  if (job->brief || Ended(job->state)) return;
  job->spec.priority = event.priority;
  if (job->spec.deadline != event.deadline) job->spec.utility.clear();
  job->spec.deadline = event.deadline;
}

void Apply(const sched::Accept& accept, StoredOutput output, JobProjection* job, ReplicaChange* change) {
  TaskView* task = job->brief ? nullptr : job->Find(accept.attempt.task);
  if (task == nullptr) return;
  StageView& stage = job->stages[accept.attempt.task.stage];
  if (accept.winner) {
    if (!task->committed) ++stage.committed;
    task->committed = true;
    stage.output_bytes += accept.manifest.bytes - task->manifest.bytes;
    stage.output_records += accept.manifest.records - task->manifest.records;
    task->output = output;
    task->manifest = accept.manifest;
    task->worker = accept.worker;
    task->winner = accept.attempt.number;
    task->generation = std::max(task->generation, accept.replica.output.generation);
  }
  if (job->spec.stages[accept.attempt.task.stage].is_final()) return;
  task->replicas.push_back({accept.replica, accept.manifest, std::move(output)});
  change->added.push_back(accept.replica);
}

bool Apply(const sched::DropReplica& drop, JobProjection* job, ReplicaChange* change) {
  if (job->Find(drop.replica) == nullptr) return false;
  std::erase_if(job->Find(drop.replica.output.task)->replicas,
                [&](const ReplicaView& r) { return r.replica == drop.replica; });
  change->removed.push_back(drop.replica);
  return true;
}

void Apply(const sched::CommitJob&, Instant at, JobProjection* job) {
  job->state = JobState::kCommitting;
  job->ended = at;
}

void Apply(const sched::FailJob& fail, Instant at, JobProjection* job) {
  job->state = fail.killed ? JobState::kKilled : JobState::kFailed;
  job->ended = at;
}

void Apply(const sched::MarkIndeterminate& mark, JobProjection* job) {
  job->rolled_back = job->rolled_back || mark.reason.code == sched::ReasonCode::kIndeterminate;
}

bool AddReplica(const Replica& replica, JobProjection* job, ReplicaChange* change) {
  TaskView* task = job->brief ? nullptr : job->Find(replica.output.task);
  if (task == nullptr || !task->output || job->Find(replica) != nullptr) return false;
  task->replicas.push_back({replica, task->manifest, task->output});
  change->added.push_back(replica);
  return true;
}

}  // namespace mr::master
