#include "master/core/jobs.h"

#include <algorithm>
#include <set>
#include <utility>
#include <variant>

#include "common/base/count.h"

namespace mr::master {

Jobs::Jobs(size_t ended_jobs) : ended_jobs_(ended_jobs) {}
Jobs::~Jobs() = default;

void Jobs::AddOpen(const JobView& job) {
  open_outputs_.emplace(job.spec.output_uri, job.id);
  open_of_[job.owner].insert(job.id);
}

Jobs::OwnerJobs Jobs::OpenOf(const std::string& owner) const {
  OwnerJobs count;
  const auto found = open_of_.find(owner);
  if (found == open_of_.end()) return count;
  for (const JobId id : found->second) {
    const JobState state = jobs_.at(id).state;
    if (Ended(state)) continue;
    ++count.open;
    count.pending += state == JobState::kPending ? 1 : 0;
  }
  return count;
}

Result<const JobView*> Jobs::Find(JobId id, const Caller& caller) const {
  const JobView* job = Find(id);
  if (job == nullptr || !caller.Reaches(job->owner)) return Unknown(id);
  return job;
}

Status Jobs::Unknown(JobId id) const {
  if (newest_forgotten_ < id) return NotFound("there is no job " + Name(id));
  return NotFound("there is no job " + Name(id) + " any more, if there ever was: the master keeps the newest " +
                  CountOf(ended_jobs_, "ended job") + " (mrmaster --ended_jobs)");
}

void Jobs::Settle(JobId id) {
  JobView* job = Find(id);
  if (job == nullptr || job->told) return;
  job->told = true;
  for (auto [it, end] = open_outputs_.equal_range(job->spec.output_uri); it != end; ++it) {
    if (it->second != id) continue;
    open_outputs_.erase(it);
    break;
  }
  if (const auto of = open_of_.find(job->owner); of != open_of_.end()) {
    of->second.erase(id);
    if (of->second.empty()) open_of_.erase(of);
  }
  whole_.push_back(id);
  for (const StageView& stage : job->stages) whole_tasks_ += stage.tasks.size();
}

const JobView* Jobs::OpenWithOutput(const std::string& output_uri) const {
  for (auto [it, end] = open_outputs_.equal_range(output_uri); it != end; ++it) {
    ++looked_at_;
    const JobView& job = jobs_.at(it->second);
    // Its end may be decided and not yet be on disk.
    if (!Ended(job.state)) return &job;
  }
  return nullptr;
}

std::vector<JobId> Jobs::OpenJobs() const {
  std::vector<JobId> open;
  for (const auto& [uri, id] : open_outputs_) open.push_back(id);
  return open;
}

void Jobs::Shrink(const std::function<bool(JobId)>& has_live_attempts) {
  while (whole_.size() > 1 && (whole_.size() > std::min(kWholeJobs, ended_jobs_) || whole_tasks_ > kWholeTasks)) {
    JobView& job = jobs_.at(whole_.front());
    if (has_live_attempts(job.id)) break;  // their ends still count, and their staging is cleaned up after them
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
    job.notes.attempts.clear();
    job.notes.why.clear();
    job.notes.skew.clear();
    job.brief = true;
    brief_bytes_ += job.spec_bytes.size();
    brief_.push_back(job.id);
    whole_.pop_front();
  }
  while (!brief_.empty() && (whole_.size() + brief_.size() > ended_jobs_ || brief_bytes_ > kBriefBytes)) {
    const auto it = jobs_.find(brief_.front());
    brief_bytes_ -= it->second.spec_bytes.size();
    newest_forgotten_ = std::max(newest_forgotten_, it->first);
    submissions_.erase({it->second.owner, it->second.submission_id});
    jobs_.erase(it);
    brief_.pop_front();
  }
}

JobView* Jobs::Find(JobId id) {
  const auto it = jobs_.find(id);
  return it == jobs_.end() ? nullptr : &it->second;
}

const JobView* Jobs::FindSubmission(const std::string& owner, const std::string& submission_id) const {
  const auto it = submissions_.find({owner, submission_id});
  return it == submissions_.end() ? nullptr : Find(it->second);
}

const ReplicaView* Jobs::FindReplica(const Replica& replica) const {
  const JobView* job = Find(replica.output.task.job);
  return job == nullptr ? nullptr : job->JobProjection::Find(replica);
}

std::string Jobs::NameOf(const AttemptId& id) const {
  const JobView* job = Find(id.task.job);
  return job == nullptr ? Name(id, TaskLetter::kMap) : master::NameOf(id, *job);
}

bool Jobs::Whole(JobId id) const {
  const JobView* job = Find(id);
  return job != nullptr && !job->brief;
}

void Jobs::ForgetReads() {
  for (auto& [id, job] : jobs_) job.notes.reads.clear();
}

// Changes the projections by a step, and calls the annotator behind each change.
struct Jobs::Projector {
  Jobs& jobs;
  const EventRecord& record;
  const std::vector<sched::Decision>& decisions;
  Annotator annotator;
  uint64_t sequence;
  ReplicaChange* change;

  Instant at() const { return record.stamped.at; }

  // ---- Events
  template <class E>
  void operator()(const E&) {}
  void operator()(const sched::JobSubmitted& e) {
    const auto [it, added] = jobs.jobs_.try_emplace(e.job);
    if (!added) return;  // the scheduler passes over a second submission, too
    JobView& job = it->second;
    static_cast<JobProjection&>(job) = SubmittedJob(record, sequence);
    job.notes.stages.resize(job.stages.size());
    if (!job.submission_id.empty()) jobs.submissions_[{job.owner, job.submission_id}] = e.job;
    jobs.AddOpen(job);
  }
  void operator()(const sched::StagePlanned& e) {
    JobView* job = jobs.Find(e.job);
    if (job == nullptr) return;
    const size_t before = e.stage < job->stages.size() ? job->stages[e.stage].tasks.size() : 0;
    master::Apply(e, job);
    if (e.tasks.size() < before) DropNotes(job);  // a walk over all attempts
  }
  void operator()(const sched::JobTakenOver& e) {
    JobView* job = jobs.Find(e.submitted.job);
    if (job == nullptr) return;
    master::Apply(e, job);
    DropNotes(job);
  }
  // The plan of another release may have had more tasks.
  static void DropNotes(JobView* job) {
    std::erase_if(job->notes.attempts, [job](const auto& entry) { return job->Find(entry.first.task) == nullptr; });
  }
  void operator()(const sched::JobSet& e) {
    if (JobView* job = jobs.Find(e.job)) master::Apply(e, job);
  }
  void operator()(const sched::ReplicaMade& e) { Made(e.replica); }
  // The replica stays if no decision of the same step drops it.
  void Made(const Replica& replica) {
    JobView* job = jobs.Find(replica.output.task.job);
    const bool refused = std::any_of(decisions.begin(), decisions.end(), [&replica](const sched::Decision& d) {
      const auto* drop = std::get_if<sched::DropReplica>(&d);
      return drop != nullptr && drop->replica == replica;
    });
    if (!refused && job != nullptr && AddReplica(replica, job, change)) annotator.Made(replica);
  }

  // ---- Decisions
  void operator()(const sched::Accept& d) {
    JobView* job = jobs.Find(d.attempt.task.job);
    const TaskView* task = job == nullptr || job->brief ? nullptr : job->Find(d.attempt.task);
    if (task == nullptr) return;
    FinishedExtra& output = change->output;
    if (std::holds_alternative<sched::AttemptFinished>(record.stamped.event)) {
      (void)DecodeFinished(record.extra, &output, &change->hot);
    }
    output.dfs_commit = {};  // the namespace has it
    if (d.winner) annotator.SetBefore(task->output);
    master::Apply(d, StoredOutput(output), job, change);
  }
  void operator()(const sched::DropReplica& d) {
    JobView* job = jobs.Find(d.replica.output.task.job);
    if (job != nullptr && master::Apply(d, job, change)) annotator.Dropped(d);
  }
  void operator()(const sched::CommitJob& d) {
    if (JobView* job = jobs.Find(d.job)) master::Apply(d, at(), job);
  }
  void operator()(const sched::FailJob& d) {
    if (JobView* job = jobs.Find(d.job)) master::Apply(d, at(), job);
  }
  void operator()(const sched::MarkIndeterminate& d) {
    if (JobView* job = jobs.Find(d.task.job)) master::Apply(d, job);
  }
};

ReplicaChange Jobs::Apply(const EventRecord& record, const std::vector<sched::Decision>& decisions,
                          const StepChanges& changes, uint64_t sequence) {
  ReplicaChange change;
  const auto find = [this](JobId id) { return Find(id); };
  Projector projector{*this,    record, decisions, Annotator(find, record, changes, sequence, &totals_),
                      sequence, &change};
  std::visit(projector, record.stamped.event);
  projector.annotator.Event();
  projector.annotator.Changes();
  for (const Replica& replica : changes.made) projector.Made(replica);
  for (const sched::Decision& decision : decisions) {
    std::visit(projector, decision);
    projector.annotator.Decision(decision);
  }
  return change;
}

}  // namespace mr::master
