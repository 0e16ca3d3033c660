#include "master/core/job_table.h"

#include <algorithm>
#include <set>
#include <utility>

#include "master/core/failure_text.h"

namespace mr::master {
namespace {

// Refused launches of one task of which people hear: one or two are normal while a worker drains.
constexpr uint32_t kRefusalsToTell = 3;
constexpr size_t kMaxLine = 300;  // of a text that is to stand in one line (a guess)

std::string OneLine(const std::string& text) {
  std::string line = text.substr(0, kMaxLine);
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line.size() < text.size() ? line + " ..." : line;
}

}  // namespace

Status JobTable::Unknown(JobId id) const {
  if (newest_forgotten_ < id) return NotFound("there is no job " + Name(id));
  return NotFound("there is no job " + Name(id) + " any more, if there ever was: the master keeps the newest " +
                  std::to_string(ended_jobs_) + " ended jobs (mrmaster --ended_jobs)");
}

void JobTable::Settle(JobId id) {
  JobView* job = Find(id);
  if (job == nullptr || job->told) return;
  job->told = true;
  for (auto [it, end] = open_outputs_.equal_range(job->spec.output_uri); it != end; ++it) {
    if (it->second != id) continue;
    open_outputs_.erase(it);
    break;
  }
  whole_.push_back(id);
  for (const StageView& stage : job->stages) whole_tasks_ += stage.tasks.size();
}

const JobView* JobTable::OpenWithOutput(const std::string& output_uri) const {
  for (auto [it, end] = open_outputs_.equal_range(output_uri); it != end; ++it) {
    ++looked_at_;
    const JobView& job = jobs_.at(it->second);
    // Its end may be decided and not yet be on disk.
    if (!Ended(job.state)) return &job;
  }
  return nullptr;
}

std::vector<JobId> JobTable::OpenJobs() const {
  std::vector<JobId> open;
  for (const auto& [uri, id] : open_outputs_) open.push_back(id);
  return open;
}

void JobTable::Shrink() {
  while (whole_.size() > 1 && (whole_.size() > std::min(kWholeJobs, ended_jobs_) || whole_tasks_ > kWholeTasks)) {
    JobView& job = jobs_.at(whole_.front());
    if (job.live_attempts > 0) break;  // its attempts are still being stopped
    job.totals = TotalsOf(job.Outputs());
    for (StageView& stage : job.stages) {
      whole_tasks_ -= stage.tasks.size();
      stage.tasks = {};
    }
    for (StagePlan& stage : job.plan.stages) {
      stage.splits = {};
      stage.slices = {};
      stage.first_split = {};
    }
    job.plan.files = {};
    job.attempts.clear();
    job.why.clear();
    job.skew.clear();
    job.brief = true;
    brief_bytes_ += job.spec_bytes.size();
    brief_.push_back(job.id);
    whole_.pop_front();
  }
  while (!brief_.empty() && (whole_.size() + brief_.size() > ended_jobs_ || brief_bytes_ > kBriefBytes)) {
    const auto it = jobs_.find(brief_.front());
    brief_bytes_ -= it->second.spec_bytes.size();
    newest_forgotten_ = std::max(newest_forgotten_, it->first);
    submissions_.erase(it->second.submission_id);
    jobs_.erase(it);
    brief_.pop_front();
  }
}

std::vector<FileOutput> JobView::Outputs() const {
  std::vector<FileOutput> all;
  for (size_t s = 0; s < stages.size(); ++s) {
    if (!spec.stages[s].is_final()) continue;
    for (const TaskView& task : stages[s].tasks) {
      if (task.output == nullptr) continue;
      all.insert(all.end(), task.output->outputs.begin(), task.output->outputs.end());
    }
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return all;
}

JobView* JobTable::Find(JobId id) {
  const auto it = jobs_.find(id);
  return it == jobs_.end() ? nullptr : &it->second;
}

AttemptView* JobTable::Find(const AttemptId& id) {
  JobView* job = Find(id.task.job);
  if (job == nullptr) return nullptr;
  const auto it = job->attempts.find(id);
  return it == job->attempts.end() ? nullptr : &it->second;
}

std::string JobTable::NameOf(const AttemptId& id) const {
  const auto it = jobs_.find(id.task.job);
  const bool known = it != jobs_.end() && id.task.stage < it->second.spec.stages.size();
  return Name(id, known ? it->second.letter(id.task.stage) : TaskLetter::kMap);
}

const ReplicaView* JobTable::FindReplica(const Replica& replica) {
  const TaskId& id = replica.output.task;
  JobView* job = Find(id.job);
  if (job == nullptr || id.stage >= job->stages.size() || id.task >= job->stages[id.stage].tasks.size()) {
    return nullptr;
  }
  for (const ReplicaView& c : job->stages[id.stage].tasks[id.task].replicas) {
    if (c.replica == replica) return &c;
  }
  return nullptr;
}

std::vector<Replication> JobTable::ReplicationsTo(WorkerId to) const {
  std::vector<Replication> all;
  for (auto it = replications_.lower_bound({to, {}}); it != replications_.end() && it->first.first == to; ++it) {
    all.push_back(it->second);
  }
  return all;
}

void JobTable::EndReplications(JobId job) {
  std::erase_if(replications_, [job](const auto& entry) { return entry.first.second.task.job == job; });
}

JobView* JobTable::FindSubmission(const std::string& submission_id) {
  const auto it = submissions_.find(submission_id);
  return it == submissions_.end() ? nullptr : Find(it->second);
}

void JobTable::End(AttemptView* attempt, AttemptState state, Instant at, uint64_t sequence) {
  if (!Live(attempt->state)) return;
  JobView* job = Find(attempt->id.task.job);
  StageView& stage = job->stages[attempt->id.task.stage];
  --(attempt->state == AttemptState::kWaiting ? stage.waiting : stage.running);
  --job->live_attempts;
  TaskView& task = stage.tasks[attempt->id.task.task];
  --task.live;
  attempt->state = state;
  attempt->ended = at;
  attempt->sequence = sequence;
  if (state == AttemptState::kFailed) {
    ++stage.failed;
    ++counts_.failed;
  }
  const size_t cause = CauseIndex(attempt->cause);
  for (sched::CauseCount* count : {&job->causes[cause], &causes_[cause]}) {
    if (state == AttemptState::kCommitted)
      ++count->won;
    else
      count->wasted = count->wasted + (at - attempt->launched);
  }
  CountClone(*attempt, job);
  if (state == AttemptState::kKilled) ++counts_.killed;
  if (state == AttemptState::kCommitted) ++counts_.committed;
  if (state != AttemptState::kCommitted) stage.taken_bytes -= std::min(stage.taken_bytes, attempt->taken_bytes);
}

void JobTable::EndWorker(WorkerId worker, Incarnation incarnation, Instant at, uint64_t sequence,
                         const std::string& why) {
  for (auto& [id, job] : jobs_) {
    if (job.live_attempts == 0) continue;
    for (auto& [attempt_id, attempt] : job.attempts) {
      if (attempt.worker != worker || attempt.incarnation != incarnation || !Live(attempt.state)) continue;
      attempt.message = why;
      End(&attempt, AttemptState::kKilled, at, sequence);
    }
  }
}

void JobTable::EndAllAttempts(Instant at, const std::string& why) {
  replications_.clear();
  for (auto& [id, job] : jobs_) {
    if (job.live_attempts == 0) continue;
    for (auto& [attempt_id, attempt] : job.attempts) {
      if (!Live(attempt.state)) continue;
      attempt.message = why;
      End(&attempt, AttemptState::kKilled, at, 0);
    }
  }
}

void JobTable::Note(What what, const AttemptId& attempt, JobId id, WorkerId worker, const sched::Reason& reason,
                    Instant at, std::string text) {
  JobView* job = Find(id);
  if (job == nullptr || job->brief) return;
  // Reports name what their worker likes: only what there is has lines.
  const uint32_t stage = attempt.task.stage, task = attempt.task.task;
  const bool exists = stage < job->stages.size() && task < job->stages[stage].tasks.size();
  if (attempt.number != 0 && !exists) return;
  auto& lines = attempt.number == 0 ? job->why_job : job->why[{stage, task}];
  const auto bound = [](const WhyLine& line) { return line.what == What::kBound; };
  if (what == What::kBound && std::count_if(lines.begin(), lines.end(), bound) >= kBoundPerTask) {
    lines.erase(std::find_if(lines.begin(), lines.end(), bound));
  }
  lines.push_back({at, what, attempt, worker, reason, std::move(text)});
  if (lines.size() > kWhyPerTask) lines.pop_front();
}

// Events: what arrived. Exhaustive, so that a new kind has to be thought about here.
struct EventFolder {
  JobTable& table;
  const EventRecord& record;
  const std::vector<sched::Decision>& decisions;
  Instant at;
  uint64_t sequence;
  JobTable::Change* change;

  void operator()(const sched::JobSubmitted& e) {
    SubmitExtra submit;
    MR_CHECK(DecodeSubmit(record.extra, &submit) && record.spec != nullptr, "a job without its spec");
    JobView& job = table.jobs_[e.job];
    job.id = e.job;
    job.spec_bytes = std::move(submit.spec);
    job.spec = *record.spec;
    job.submission_id = submit.submission_id;
    job.wall_ms = submit.wall_ms;
    job.plan = std::move(submit.plan);
    FillSplits(&job.plan);
    job.submitted = at;
    job.submit_sequence = sequence;
    job.stages.resize(job.spec.stages.size());
    if (!job.submission_id.empty()) table.submissions_[job.submission_id] = e.job;
    table.AddOpen(job);
  }
  void operator()(const sched::JobKillAsked& e) {
    JobView* job = table.Find(e.job);
    if (job != nullptr && (job->state == JobState::kPending || job->state == JobState::kRunning)) {
      job->state = JobState::kKilling;
      job->error = e.why;
    }
  }
  void operator()(const sched::StagePlanned& e) { table.Planned(e); }
  void operator()(const sched::AttemptProgress& e) {
    for (const auto& report : e.reports) {
      AttemptView* attempt = table.Find(report.attempt);
      if (attempt == nullptr || !Live(attempt->state)) continue;
      StageView& stage = table.Find(report.attempt.task.job)->stages[report.attempt.task.stage];
      if (report.taken_bytes > attempt->taken_bytes) stage.taken_bytes += report.taken_bytes - attempt->taken_bytes;
      attempt->taken_bytes = std::max(attempt->taken_bytes, report.taken_bytes);
      attempt->total_bytes = report.total_bytes;
      if (report.inputs_done && attempt->state == AttemptState::kWaiting) {
        attempt->state = AttemptState::kRunning;
        --stage.waiting;
        ++stage.running;
      }
    }
  }
  void operator()(const sched::AttemptFailed& e) {
    AttemptView* attempt = Own(e.attempt, e.worker, e.incarnation);
    if (attempt == nullptr) return;
    FailedExtra failed;
    if (DecodeFields(record.extra, &failed)) {
      attempt->record = failed.record;
      attempt->stderr_tail = failed.stderr_tail;
    }
    attempt->message = e.message;
    table.End(attempt, AttemptState::kFailed, at, sequence);
    table.Find(e.attempt.task.job)->last_failure =
        table.NameOf(e.attempt) + " failed on " + Name(e.worker) + ": " + OneLine(e.message);
  }
  void operator()(const sched::AttemptRefused& e) {
    AttemptView* attempt = Own(e.attempt, e.worker, e.incarnation);
    if (attempt == nullptr) return;
    attempt->message = "not started: " + e.why;
    table.End(attempt, AttemptState::kKilled, at, sequence);
    ++table.counts_.refused;
    JobView& job = *table.Find(e.attempt.task.job);
    const uint32_t times = ++job.stages[e.attempt.task.stage].tasks[e.attempt.task.task].refused;
    if (times < kRefusalsToTell) return;
    job.last_failure = table.NameOf(e.attempt) + " was not started by " + Name(e.worker) + ", as " +
                       std::to_string(times - 1) + " before it: " + OneLine(e.why);
  }
  void operator()(const sched::AttemptKilled& e) {
    if (AttemptView* attempt = Own(e.attempt, e.worker, e.incarnation)) {
      table.End(attempt, AttemptState::kKilled, at, sequence);
    }
  }
  void operator()(const sched::WorkerLost& e) {
    table.EndWorker(e.worker, e.incarnation, at, sequence, "its worker was lost: " + e.why);
    for (const Replication& r : table.ReplicationsTo(e.worker)) {
      const TaskId& id = r.from.output.task;
      table.replications_.erase({r.to, r.from.output});
      table.Note(What::kReplicaNotMade, {id, r.from.attempt}, id.job, r.to, {}, at, OneLine("it was lost: " + e.why));
    }
  }
  void operator()(const sched::WorkerRegistered& e) {
    for (auto& [id, job] : table.jobs_) {
      if (job.live_attempts == 0) continue;
      for (auto& [attempt_id, attempt] : job.attempts) {
        if (attempt.worker != e.worker || !Live(attempt.state)) continue;
        if (attempt.incarnation == e.incarnation &&
            (std::find(e.running.begin(), e.running.end(), attempt_id) != e.running.end() ||
             InInventory(e, attempt_id))) {
          continue;
        }
        attempt.message = "its worker came back without it";
        table.End(&attempt, AttemptState::kKilled, at, sequence);
      }
    }
    // Requested replicas that the worker has by now.
    for (const Replica& c : e.inventory) {
      const auto asked = table.replications_.find({e.worker, c.output});
      if (asked == table.replications_.end() || asked->second.from.attempt != c.attempt) continue;
      const sched::Reason reason = asked->second.reason;
      table.replications_.erase(asked);
      TakeMade({c.output, c.attempt, e.worker, e.incarnation}, reason);
    }
  }
  // Finished, its report under way.
  static bool InInventory(const sched::WorkerRegistered& e, const AttemptId& id) {
    return std::any_of(e.inventory.begin(), e.inventory.end(),
                       [&id](const Replica& c) { return c.output.task == id.task && c.attempt == id.number; });
  }
  // People see these by the decisions that they cause.
  void operator()(const sched::AttemptFinished&) {}
  void operator()(const sched::AttemptStarted&) {}
  void operator()(const sched::ConfigChanged&) {}
  void operator()(const sched::WorkerDraining&) {}
  void operator()(const sched::WorkerAway&) {}
  void operator()(const sched::FetchDone&) {}
  void operator()(const sched::FetchFailed&) {}
  void operator()(const sched::ReplicaMade& e) {
    const auto asked = table.replications_.extract({e.replica.worker, e.replica.output});
    TakeMade(e.replica, asked.empty() ? sched::Reason{} : asked.mapped().reason);
  }
  // Here to stay where no decision of the same step drops it.
  void TakeMade(const Replica& replica, const sched::Reason& reason) {
    const TaskId& id = replica.output.task;
    JobView* job = table.Find(id.job);
    const bool refused = std::any_of(decisions.begin(), decisions.end(), [&replica](const sched::Decision& d) {
      const auto* drop = std::get_if<sched::DropReplica>(&d);
      return drop != nullptr && drop->replica == replica;
    });
    if (refused || job == nullptr || job->brief || table.FindReplica(replica) != nullptr) return;
    if (id.stage >= job->stages.size() || id.task >= job->stages[id.stage].tasks.size()) return;
    TaskView& task = job->stages[id.stage].tasks[id.task];
    if (task.output == nullptr) return;
    task.replicas.push_back({replica, task.manifest, task.output});
    change->added.push_back(replica);
    ++table.replica_counts_.made;
    table.replica_counts_.bytes += task.manifest.bytes;
    table.Note(What::kReplicaMade, {id, replica.attempt}, id.job, replica.worker, reason, at);
  }
  // Behind it the task's own decisions say that it was launched again.
  void operator()(const sched::ReplicaLost& e) {
    const TaskId& id = e.replica.output.task;
    JobView* job = table.Find(id.job);
    if (job == nullptr || job->brief || table.FindReplica(e.replica) == nullptr) return;
    const size_t left = job->stages[id.stage].tasks[id.task].replicas.size() - 1;
    const std::string next = left == 0   ? "no other replica is left, so the task runs again if its output is needed"
                             : left == 1 ? "1 other replica is left to read"
                                         : std::to_string(left) + " other replicas are left to read";
    const sched::Reason reason{sched::ReasonCode::kOutputLost, "", {double(e.replica.output.generation)}};
    table.Note(What::kOutputLost, {id, e.replica.attempt}, id.job, e.replica.worker, reason, at,
               OneLine(e.why) + "; " + next);
  }
  void operator()(const sched::ReplicaNotMade& e) {
    table.replications_.erase({e.worker, e.from.output});
    const TaskId& id = e.from.output.task;
    table.Note(What::kReplicaNotMade, {id, e.from.attempt}, id.job, e.worker, {}, at, OneLine(e.why));
  }
  void operator()(const sched::ProfileLoaded&) {}
  void operator()(const sched::TimerDue&) {}
  void operator()(const sched::QueueSet&) {}
  void operator()(const sched::JobSet& e) { table.NoteWishes(e); }
  void operator()(const sched::LeaseSet&) {}
  void operator()(const sched::JobGivenUp&) {}
  void operator()(const sched::OperatorsKnown& e) {
    JobView* job = table.Find(e.job);
    if (job == nullptr || job->brief) return;
    for (const uint32_t s : e.indeterminate) {
      if (s >= job->spec.stages.size()) continue;
      job->warnings.try_emplace(s, "stage '" + job->spec.stages[s].name +
                                       "' is not deterministic: in an earlier job its operator "
                                       "did not give the same records for the same input; none of its tasks is cloned");
    }
  }
  void operator()(const sched::JobTakenOver& e) {
    const JobId id = e.submitted.job;
    JobView* job = table.Find(id);
    if (job == nullptr) return;
    for (const sched::StagePlanned& plan : e.plans) (*this)(plan);
    std::set<std::pair<uint32_t, uint32_t>> kept;
    for (const sched::KeptOutput& output : e.outputs) kept.emplace(output.stage, output.task);
    for (uint32_t s = 0; s < job->stages.size(); ++s) {
      StageView& stage = job->stages[s];
      for (uint32_t t = 0; t < stage.tasks.size(); ++t) {
        if (!stage.tasks[t].committed || kept.contains({s, t})) continue;
        stage.tasks[t].committed = false;
        --stage.done;
      }
    }
    table.Note(What::kTakenOver, {}, id, {}, {}, at);
  }

  AttemptView* Own(const AttemptId& id, WorkerId worker, Incarnation incarnation) {
    AttemptView* attempt = table.Find(id);
    return attempt != nullptr && attempt->worker == worker && attempt->incarnation == incarnation ? attempt : nullptr;
  }
};

struct DecisionFolder {
  JobTable& table;
  const EventRecord& record;
  Instant at;
  uint64_t sequence;
  JobTable::Change* change;
  std::shared_ptr<const FinishedExtra> before;  // of the task that this step committed: its last output

  void operator()(const sched::Launch& d) {
    JobView* job = table.Find(d.attempt.task.job);
    if (job == nullptr) return;
    StageView& stage = job->stages[d.attempt.task.stage];
    TaskView& task = stage.tasks[d.attempt.task.task];
    if (d.generation > task.generation) {
      // Its output is lost and needed again.
      if (task.committed) --stage.done;
      task.committed = false;
      task.generation = d.generation;
    }
    AttemptView& attempt = job->attempts[d.attempt];
    attempt = {.id = d.attempt,
               .worker = d.worker,
               .incarnation = d.incarnation,
               .cause = d.cause,
               .generation = d.generation,
               .launched = at,
               .reason = d.reason};
    if (d.reason.code == sched::ReasonCode::kWaitingEarly) attempt.state = AttemptState::kWaiting;
    ++(attempt.state == AttemptState::kWaiting ? stage.waiting : stage.running);
    ++task.attempts;
    ++task.live;
    ++job->live_attempts;
    ++table.counts_.launched;
    for (CauseCounts* causes : {&job->causes, &table.causes_}) ++(*causes)[CauseIndex(d.cause)].launched;
    task.worker = d.worker;
    if (!stage.started) {
      stage.started = true;
      stage.first_launch = at;
    }
    if (job->state == JobState::kPending) job->state = JobState::kRunning;
    table.Note(What::kLaunched, d.attempt, job->id, d.worker, d.reason, at);
  }
  void operator()(const sched::Accept& d) {
    JobView* job = table.Find(d.attempt.task.job);
    if (job == nullptr || job->brief) return;
    StageView& stage = job->stages[d.attempt.task.stage];
    TaskView& task = stage.tasks[d.attempt.task.task];
    auto output = std::make_shared<FinishedExtra>();
    if (std::holds_alternative<sched::AttemptFinished>(record.stamped.event)) {
      (void)DecodeFinished(record.extra, output.get(), &change->hot);
    }
    output->dfs_commit = {};  // the namespace has it
    if (AttemptView* attempt = table.Find(d.attempt)) {
      table.End(attempt, d.winner ? AttemptState::kCommitted : AttemptState::kReplica, at, sequence);
    }
    if (d.winner) {
      if (job->state == JobState::kPending) job->state = JobState::kRunning;
      if (!task.committed) {
        ++stage.done;
        task.committed = true;
      }
      stage.last_commit = at;
      stage.output_bytes += d.manifest.bytes - task.manifest.bytes;
      stage.output_records += d.manifest.records - task.manifest.records;
      before = std::exchange(task.output, output);
      task.manifest = d.manifest;
      task.worker = d.worker;
      task.winner = d.attempt.number;
      task.generation = std::max(task.generation, d.replica.output.generation);
    }
    if (!job->spec.stages[d.attempt.task.stage].is_final()) {
      task.replicas.push_back({d.replica, d.manifest, output});
      change->added.push_back(d.replica);
    }
    table.Note(d.winner ? What::kCommitted : What::kKeptAsReplica, d.attempt, job->id, d.worker, d.reason, at);
  }
  void operator()(const sched::Refuse& d) {
    AttemptView* attempt = table.Find(d.attempt);
    if (attempt == nullptr) return;
    if (attempt->worker == d.worker && attempt->incarnation == d.incarnation) {
      table.End(attempt, AttemptState::kKilled, at, sequence);
    }
    table.Note(What::kRefused, d.attempt, d.attempt.task.job, d.worker, d.reason, at);
  }
  void operator()(const sched::Kill& d) {
    if (table.Find(d.attempt) == nullptr) return;  // a worker said that it runs what never was
    StopAsked(d.attempt);
    table.Note(What::kAskedToStop, d.attempt, d.attempt.task.job, d.worker, d.reason, at);
  }
  void operator()(const sched::TakeBack& d) {
    StopAsked(d.attempt);
    table.Note(What::kTakenBack, d.attempt, d.attempt.task.job, d.worker, d.reason, at);
  }
  void operator()(const sched::Bind& d) { table.NoteBind(d, at); }
  void operator()(const sched::DropReplica& d) {
    const TaskId& id = d.replica.output.task;
    JobView* job = table.Find(id.job);
    if (job == nullptr || table.FindReplica(d.replica) == nullptr) return;
    auto& replicas = job->stages[id.stage].tasks[id.task].replicas;
    std::erase_if(replicas, [&](const ReplicaView& c) { return c.replica == d.replica; });
    change->removed.push_back(d.replica);
    table.Note(What::kReplicaDropped, {id, d.replica.attempt}, id.job, d.replica.worker, d.reason, at);
  }
  void operator()(const sched::PlanStage& d) {
    table.Note(What::kStagePlanned, {{d.job, d.stage, 0}, 0}, d.job, {}, d.reason, at);
  }
  void operator()(const sched::CommitJob& d) {
    JobView* job = table.Find(d.job);
    if (job == nullptr) return;
    job->state = JobState::kCommitting;
    job->ended = at;
    job->steering.End(at);
    table.EndReplications(d.job);
    table.Note(What::kJobCommitted, {}, d.job, {}, d.reason, at);
  }
  void operator()(const sched::FailJob& d) {
    JobView* job = table.Find(d.job);
    if (job == nullptr) return;
    job->state = d.killed ? JobState::kKilled : JobState::kFailed;
    job->ended = at;
    job->steering.End(at);
    table.EndReplications(d.job);
    if (!d.message.empty()) job->error = d.killed ? d.message : FailureSummary(*job, d.message);
    table.Note(d.killed ? What::kJobKilled : What::kJobFailed, {}, d.job, {}, d.reason, at);
  }
  void operator()(const sched::MarkIndeterminate& d) {
    JobView* job = table.Find(d.task.job);
    if (job != nullptr && d.reason.code == sched::ReasonCode::kIndeterminate) job->rolled_back = true;
    table.WarnIndeterminate(d, record.extra, before.get());
    table.Note(What::kOtherContent, {d.task, 0}, d.task.job, {}, d.reason, at);
  }
  void StopAsked(const AttemptId& id) {
    if (AttemptView* attempt = table.Find(id)) attempt->stop_asked = true;
  }
  void operator()(const sched::SetShare& d) {
    JobView* job = table.Find(d.job);
    if (job == nullptr) return;
    if (job->steering.slots != d.slots) table.Note(What::kAllotted, {}, d.job, {}, d.reason, at);
    job->steering.Note(d, at);
  }
  void operator()(const sched::ReplicateOutput& d) {
    const TaskId& id = d.from.output.task;
    table.replications_[{d.to, d.from.output}] = {d.from, d.to, d.reason};
    table.Note(What::kReplicated, {id, d.from.attempt}, id.job, d.to, d.reason, at);
  }
  void operator()(const sched::Remember&) {}
  void operator()(const sched::Spare& d) {
    table.Note(What::kSpared, d.attempt, d.attempt.task.job, d.worker, d.reason, at);
  }
  void operator()(const sched::WakeAt&) {}
};

JobTable::Change JobTable::Fold(const EventRecord& record, const std::vector<sched::Decision>& decisions,
                                uint64_t sequence) {
  Change change;
  const Instant at = record.stamped.at;
  std::visit(EventFolder{*this, record, decisions, at, sequence, &change}, record.stamped.event);
  DecisionFolder folder{*this, record, at, sequence, &change, nullptr};
  for (const auto& decision : decisions) std::visit(folder, decision);
  return change;
}

}  // namespace mr::master
