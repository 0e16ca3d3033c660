// Requests to the master core, checked against its state: each becomes a record, or the reason why not.
#include <algorithm>
#include <utility>

#include "common/base/count.h"
#include "common/model/role_names.h"
#include "master/core/master_core.h"
#include "master/core/output_commit.h"
#include "master/core/spec_check.h"
#include "master/core/stage_plans.h"
#include "master/sched/state/state.h"

namespace mr::master {

std::optional<sched::Event> MasterCore::Prepare(const FollowUp& follow_up) const {
  const auto it = jobs_.jobs().find(follow_up.stage.job);
  if (it == jobs_.jobs().end() || Ended(it->second.state)) return std::nullopt;
  const JobView& job = it->second;
  if (follow_up.kind == FollowUp::Kind::kPlanStage) {
    const uint32_t stage = follow_up.stage.stage;
    // Answered meanwhile, or not yet.
    if (!open_.unplanned.contains(follow_up.stage) || WaitsForSizes(job, stage, config_.fat_partition_bytes)) {
      return std::nullopt;
    }
    sched::Event event = PlanOf(job, stage, {partition_sizes_, *files_, config_.fat_partition_bytes});
    (void)FitRecord(&event, config_.record_bytes);  // else its error fails the job
    return event;
  }
  const sched::Job* known = scheduler_->state().FindJob(job.id);
  if (known == nullptr || !known->running()) return std::nullopt;
  sched::OperatorsKnown event{job.id, {}};
  for (uint32_t s = 0; s < known->stages.size() && s < job.spec.stages.size(); ++s) {
    if (known->stages[s].indeterminate) continue;
    if (random_operators_.Find(job.spec.OperatorOf(job.spec.stages[s])) == nullptr) continue;
    event.indeterminate.push_back(s);
  }
  if (event.indeterminate.empty()) return std::nullopt;
  return event;
}

std::vector<FollowUp> MasterCore::Unanswered() const {
  std::vector<FollowUp> all;
  for (const StageId& stage : open_.unplanned) all.push_back({FollowUp::Kind::kPlanStage, stage});
  return all;
}

std::vector<FollowUp> MasterCore::Unanswered(JobId job) const {
  std::vector<FollowUp> all;
  auto it = open_.unplanned.lower_bound({job, 0});
  for (; it != open_.unplanned.end() && it->job == job; ++it) all.push_back({FollowUp::Kind::kPlanStage, *it});
  return all;
}

std::optional<sched::TimerDue> MasterCore::DueTimer(Instant now) const {
  const auto* first = open_.timers.First();
  if (first == nullptr || first->first.first > now) return std::nullopt;
  return sched::TimerDue{first->second.first, first->second.second};
}

std::optional<Instant> MasterCore::NextTimer() const {
  const auto* first = open_.timers.First();
  return first == nullptr ? std::nullopt : std::optional(first->first.first);
}

sched::JobSubmitted MasterCore::SubmittedOf(JobId id, const JobSpec& spec) const {
  sched::JobSubmitted event;
  event.job = id;
  event.name = spec.name;
  event.queue = spec.queue;
  event.priority = spec.priority;
  event.deadline = spec.deadline;
  event.max_attempts = spec.max_failures;
  auto policies = sched::Scheduler::PoliciesOfJob(config_.policies, spec.policies, spec.speculation, spec.clones);
  event.policies = policies.ok() ? *std::move(policies) : spec.policies;
  event.graph = GraphOf(spec);
  return event;
}

Result<EventRecord> MasterCore::PrepareSubmit(Submission submission, Instant at) const {
  EventRecord record{{at, SubmittedOf({epoch_, next_job_}, *submission.spec)}, EncodeSubmit(submission.extra)};
  const uint64_t bytes = EncodeFields(std::get<sched::JobSubmitted>(record.stamped.event)).size() + record.extra.size();
  if (bytes > config_.record_bytes) {
    return Rejected(TooLong("the plan of this job", bytes, config_.record_bytes) +
                    "; give it fewer inputs or larger splits (--conf max_split_bytes=...)");
  }
  record.spec = std::move(submission.spec);
  return record;
}

Status MasterCore::CheckOwner(const Caller& caller, size_t planning) const {
  if (caller.identity.HasAny(kAdmin)) return Status::Ok();
  const OwnerLimits& limits = config_.owner;
  const std::string& owner = caller.identity.subject;
  const Jobs::OwnerJobs jobs = jobs_.OpenOf(owner);
  const auto refused = [&](size_t have, const char* which, size_t limit, const char* flag) {
    return Rejected("'" + owner + "' has " + std::to_string(have) + " " + which + ", and one user may have " +
                    std::to_string(limit) + " (mrmaster " + flag + "); nothing was submitted: submit again when some " +
                    "have ended, or end some (mrctl jobs --owner " + owner + ", mrctl kill)");
  };
  if (limits.jobs != 0 && jobs.open + planning >= limits.jobs) {
    return refused(jobs.open + planning, "unfinished jobs", limits.jobs, "--owner_jobs");
  }
  if (limits.queued != 0 && jobs.pending + planning >= limits.queued) {
    return refused(jobs.pending + planning, "jobs that have not begun", limits.queued, "--owner_queued");
  }
  return Status::Ok();
}

Status MasterCore::CheckNetwork(const Caller& caller, const JobSpec& spec) const {
  const Roles wanted = config_.owner.network | kAdmin;
  if (!spec.allow_network || caller.identity.HasAny(wanted)) return Status::Ok();
  const std::string names = RoleNames(wanted, " or ");
  return {Code::kNotAllowed,
          "a job with --allow-network needs the role " + names + " (mrmaster --network_role), and the roles of '" +
              caller.identity.subject + "' are: " + RoleNames(caller.identity.roles, ", ") +
              "; nothing was submitted. Submit it without --allow-network, or ask an administrator for a token with " +
              "the role " + names + ", or to start mrmaster with --network_role=submitter"};
}

// A job goes on from the outputs that it has committed. Its stages are planned anew: the plan may differ.
sched::JobTakenOver MasterCore::TakenOver(const JobView& whole) const {
  JobView job = whole;
  for (uint32_t s = 0; s < job.stages.size(); ++s) job.plan.stages[s].tasks = UncutTasks(job, s);
  std::set<uint32_t> unsure;  // stages
  sched::JobTakenOver taken{SubmittedOf(job.id, job.spec), {}, epoch_, {}};
  for (uint32_t s = 0; s < job.stages.size(); ++s) {
    taken.plans.push_back(PlanOf(job, s, {partition_sizes_, *files_, config_.fat_partition_bytes}));
    // The stages planned next read the output of every task of this one, cut or not.
    job.plan.stages[s].tasks = static_cast<uint32_t>(taken.plans.back().tasks.size());
    // A stage that shares fat partitions may have shared them otherwise, and its readers have read those outputs.
    const auto& inputs = job.spec.stages[s].inputs;
    if (job.spec.stages[s].splits() || std::any_of(inputs.begin(), inputs.end(), [&](const InputSpec& input) {
          return input.is_edge && unsure.contains(input.stage);
        })) {
      unsure.insert(s);
    }
    // Where blocks are is not known yet.
    for (sched::TaskPlan& task : taken.plans.back().tasks) task.preferred.clear();
    // Where an input's content changed, the projection does not say which committed outputs still hold.
    for (uint32_t t = 0; t < job.stages[s].tasks.size() && !job.rolled_back; ++t) {
      const TaskView& task = job.stages[s].tasks[t];
      if (!task.committed || unsure.contains(s)) continue;
      taken.outputs.push_back({s, t, task.generation, task.winner, task.manifest, {}});
      for (const ReplicaView& replica : task.replicas) taken.outputs.back().replicas.push_back(replica.replica);
    }
  }
  return taken;
}

std::vector<sched::Event> MasterCore::PrepareTakeOver(Instant at, std::vector<std::string>* notes) const {
  const sched::State& state = scheduler_->state();
  std::vector<sched::Event> events;
  for (const auto& [id, worker] : workers_.all()) {
    const sched::Worker* known = state.FindWorker(id);
    if (!worker.alive) continue;
    if (known != nullptr && known->alive && known->incarnation == worker.info.incarnation) continue;
    events.emplace_back(worker.info);
    events.emplace_back(sched::WorkerAway{id, worker.info.incarnation});
  }
  for (const auto& [name, set] : queues_) {
    const auto known = state.queues().find(name);
    if (known != state.queues().end() && known->second.set && known->second.weight == set.weight &&
        known->second.min_share == set.min_share && known->second.max_share == set.max_share) {
      continue;
    }
    events.emplace_back(set);
  }
  for (const auto& [id, job] : jobs_.jobs()) {
    if (Ended(job.state) || job.state == JobState::kCommitting || state.FindJob(id) != nullptr) continue;
    sched::Event taken = TakenOver(job);
    const size_t outputs = std::get<sched::JobTakenOver>(taken).outputs.size();
    notes->push_back(Name(id) + " ran under another release: it goes on from " + CountOf(outputs, "committed output"));
    if (std::string left_out = FitRecord(&taken, config_.record_bytes); !left_out.empty()) {
      notes->push_back(Name(id) + ": the record is too long: " + left_out);
    }
    events.push_back(std::move(taken));
    events.emplace_back(
        sched::JobSet{id, job.spec.priority, job.spec.deadline, std::max(at - job.submitted, Nanos(1))});
  }
  return events;
}

// Returns whether an output that the attempt read is not, or no longer, the committed one: then what it counted says
// nothing of the job, and the scheduler refuses the report. What it left out the scheduler finds.
bool MasterCore::ReadOtherContent(const AttemptId& attempt, const std::vector<Consumed>& consumed) const {
  const sched::Job* job = scheduler_->state().FindJob(attempt.task.job);
  return job != nullptr && std::any_of(consumed.begin(), consumed.end(), [job](const Consumed& c) {
           const bool exists = c.stage < job->stages.size() && c.task < job->stages[c.stage].contents.size();
           const sched::Content* content = exists ? &job->stages[c.stage].contents[c.task] : nullptr;
           return content == nullptr || content->generation == 0 || content->digest != c.content;
         });
}

std::string MasterCore::ExcessOf(const Reporter& from, const report::Finished& finished,
                                 const FinishedExtra& extra) const {
  const TaskId& task = from.attempt.task;
  const sched::State& state = scheduler_->state();
  const sched::Attempt* attempt = state.FindAttempt(from.attempt);
  const JobView* job = jobs_.Find(task.job);
  if (job == nullptr || attempt == nullptr || !from.Owns(*attempt) || !attempt->holds_slot()) return "";
  if (Ended(job->state) || state.FindTask(task)->state == sched::TaskState::kCommitted ||
      ReadOtherContent(from.attempt, finished.consumed)) {
    return "";
  }
  return bad_records_.Excess(*job, task, extra, finished.bad_records);
}

// Returns the record that the answer waits for, if the projection has this attempt's output as the committed one. The
// scheduler lacks the attempt when it has forgotten the job, or when another version launched it.
std::optional<uint64_t> MasterCore::CommittedBy(const Reporter& from) const {
  const TaskId& id = from.attempt.task;
  const JobView* job = jobs_.Find(id.job);
  const TaskView* task = job == nullptr ? nullptr : job->Find(id);
  if (task == nullptr || !task->committed || task->winner != from.attempt.number || task->worker != from.worker) {
    return std::nullopt;
  }
  const sched::Task* known = scheduler_->state().FindTask(id);
  if (known != nullptr && known->winner != from.attempt.number) return std::nullopt;
  const AttemptNote* note = job->notes.Find(from.attempt);
  return note == nullptr ? 0 : note->sequence;
}

MasterCore::FinishedAnswer MasterCore::PrepareFinished(const Reporter& from, report::Finished finished,
                                                       Instant at) const {
  const auto known = attempts().Find(from.attempt);
  if (known && known->worker == from.worker && known->incarnation == from.incarnation &&
      known->note->verdict != Verdict::kNoted) {
    // Its answer was lost on the way: the same one again.
    return {std::nullopt, known->note->verdict, known->note->sequence, ""};
  }
  if (!known) {
    if (const auto sequence = CommittedBy(from)) return {std::nullopt, Verdict::kWinner, *sequence, ""};
  }
  TaskOutput& output = finished.output;
  const FinishedExtra extra{
      output.partitions, std::move(output.rows), std::move(output.files), std::move(finished.counters), "", ""};
  if (std::string excess = ExcessOf(from, finished, extra); !excess.empty()) {
    const FailedExtra failed{finished.bad_records.empty() ? "" : finished.bad_records.front(), ""};
    EventRecord record{
        {at, sched::AttemptFailed{from.attempt, from.worker, from.incarnation, FailureKind::kUserFinal, excess}},
        EncodeFields(failed)};
    return {std::move(record), Verdict::kStale, 0, std::move(excess)};
  }
  // Whatever a damaged worker reports, no attempt ran or waited for longer than it has held its slot.
  const sched::Attempt* attempt = scheduler_->state().FindAttempt(from.attempt);
  const Duration held = attempt == nullptr ? Duration{} : std::max(Duration{}, at - attempt->launched_at);
  EventRecord record{
      {at, sched::AttemptFinished{from.attempt, from.worker, from.incarnation, output.manifest,
                                  std::move(finished.consumed), std::clamp(finished.ran, Duration{}, held),
                                  std::clamp(finished.waited, Duration{}, held)}},
      EncodeFinished(extra, finished.hot_keys)};
  record.beside = {std::move(output.partition_kib), std::move(finished.bad_records), std::move(finished.grown)};
  return {std::move(record), Verdict::kStale, 0, ""};
}

bool MasterCore::WouldCommit(const Reporter& from) const {
  const JobView* job = jobs_.Find(from.attempt.task.job);
  const sched::Job* known = scheduler_->state().FindJob(from.attempt.task.job);
  if (job == nullptr || known == nullptr || !job->in_dfs() || Ended(job->state) ||
      !IsLastTask(*known, from.attempt.task)) {
    return false;
  }
  const sched::Attempt* attempt = scheduler_->state().FindAttempt(from.attempt);
  return attempt != nullptr && from.Owns(*attempt) && attempt->holds_slot();
}

std::optional<LostBlock> MasterCore::WhyHeld(const Reporter& from, const report::Finished& finished) const {
  if (!WouldCommit(from)) return std::nullopt;
  const JobView& job = jobs_.jobs().at(from.attempt.task.job);
  return UnreadableBlock(*files_, PartsWith(job, finished.output.files), &commit_looks_);
}

Status CheckQueueName(const std::string& queue) {
  const bool printable = std::all_of(queue.begin(), queue.end(), [](char c) { return c >= ' ' && c <= '~'; });
  if (!queue.empty() && queue.size() <= 200 && printable) return Status::Ok();
  return InvalidArgument("a queue's name must be 1 to 200 printable bytes");
}

Result<sched::Event> MasterCore::PrepareQueue(const QueueWish& wish) const {
  sched::QueueSet set{wish.queue};
  if (const auto it = queues_.find(wish.queue); it != queues_.end()) set = it->second;
  set.weight = wish.weight.value_or(set.weight);
  set.min_share = wish.min_share.value_or(set.min_share);
  set.max_share = wish.max_share.value_or(set.max_share);
  const auto refused = [&](const std::string& why) {
    return InvalidArgument("queue '" + wish.queue + "' cannot be set: " + why + "; it stays as it was");
  };
  MR_RETURN_IF_ERROR(CheckQueueName(wish.queue));
  // Far beyond every use, and far from where doubles lose count.
  if (!(set.weight >= 1e-3 && set.weight <= 1e6)) return refused("its weight must be from 0.001 to 1000000");
  if (set.max_share != 0 && set.max_share < set.min_share) {
    return refused("its max share of " + std::to_string(set.max_share) + " is below its min share of " +
                   std::to_string(set.min_share));
  }
  return sched::Event(std::move(set));
}

Result<sched::Event> MasterCore::PrepareKill(JobId id, const Caller& caller, const std::string& why) const {
  MR_ASSIGN_OR_RETURN(const JobView* job, jobs_.Find(id, caller));
  if (Ended(job->state) || job->state == JobState::kCommitting) {
    return Rejected(Name(id) + " is " + Word(job->state) + " already");
  }
  return sched::Event(sched::JobKillAsked{id, why.empty() ? "asked by a user" : why});
}

Result<sched::Event> MasterCore::PrepareJobSet(JobId id, const Caller& caller, const JobWish& wish) const {
  MR_ASSIGN_OR_RETURN(const JobView* job, jobs_.Find(id, caller));
  const sched::Job* known = scheduler_->state().FindJob(id);
  if (Ended(job->state) || known == nullptr || !known->running()) {
    return Rejected(Name(id) + " is " + Word(job->state) + " already");
  }
  return sched::Event(
      sched::JobSet{id, wish.priority.value_or(known->priority), wish.deadline.value_or(known->deadline)});
}

}  // namespace mr::master
