#include "master/core/annotate.h"

#include <algorithm>
#include <set>
#include <utility>
#include <variant>

#include "common/base/count.h"
#include "master/core/failure_text.h"

namespace mr::master {
namespace {

// Refused launches of one task that people see: one or two are normal while a worker drains.
constexpr uint32_t kRefusalsShown = 3;
constexpr size_t kMaxLine = 300;  // of a text that is to stand in one line (a guess)

std::string OneLine(const std::string& text) {
  std::string line = text.substr(0, kMaxLine);
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line.size() < text.size() ? line + " ..." : line;
}

// Returns the number of shared fat partitions as text, for a stage that may share them; else "".
std::string CutText(const JobProjection& job, uint32_t stage) {
  if (!job.spec.stages[stage].splits()) return "";
  std::set<uint32_t> seen, cut;
  const auto& slices = job.plan.stages[stage].slices;
  for (const auto& task : slices) {
    for (const Slice& slice : task) {
      if (!job.spec.stages[stage].inputs[slice.input].splits) continue;
      if (!seen.insert(slice.partition_begin).second) cut.insert(slice.partition_begin);
      break;
    }
  }
  if (cut.empty()) return "";
  std::string some;
  for (const uint32_t p : cut) {
    some += (some.empty() ? "" : ", ") + std::to_string(p);
    if (some.size() > 40) break;
  }
  return "stage '" + job.spec.stages[stage].name + "': " + std::to_string(cut.size()) + " of " +
         CountOf(seen.size(), "partition") + (cut.size() == 1 ? " is" : " are") + " fat (" + some + "), so " +
         CountOf(slices.size() - seen.size() + cut.size(), "task") + " share " + (cut.size() == 1 ? "it" : "them");
}

}  // namespace

void JobNotes::Add(WhyLine line) {
  const TaskId& task = line.attempt.task;
  if (line.attempt.number != 0) return why[{task.stage, task.task}].Add(line);
  why_job.push_back(std::move(line));
  if (why_job.size() > kWhyPerTask) why_job.erase(why_job.begin());
}

AttemptNote* JobNotes::Find(const AttemptId& attempt) {
  const auto it = attempts.find(attempt);
  return it == attempts.end() ? nullptr : &it->second;
}

std::string NameOf(const AttemptId& id, const JobProjection& job) {
  return Name(id, id.task.stage < job.spec.stages.size() ? job.letter(id.task.stage) : TaskLetter::kMap);
}

JobView* Annotator::Known(JobId id) const {
  JobView* job = find_(id);
  return job == nullptr || job->brief ? nullptr : job;
}

void Annotator::Add(What what, const AttemptId& attempt, JobId id, WorkerId worker, const sched::Reason& reason,
                    std::string text) {
  JobView* job = Known(id);
  if (job == nullptr) return;
  // Workers may name anything in their reports: only tasks that exist have lines.
  if (attempt.number != 0 && job->Find(attempt.task) == nullptr) return;
  job->notes.Add({at(), what, attempt, worker, reason, std::move(text)});
}

const AttemptChange* Annotator::EndOf(const AttemptId& attempt) const {
  const auto it = std::find_if(changes_.attempts.begin(), changes_.attempts.end(),
                               [&](const AttemptChange& change) { return change.ended && change.id == attempt; });
  return it == changes_.attempts.end() ? nullptr : &*it;
}

struct Annotator::OfEvent {
  Annotator& a;

  void operator()(const sched::AttemptFailed& e) {
    JobView* known = a.Known(e.attempt.task.job);
    const AttemptChange* end = a.EndOf(e.attempt);
    if (known == nullptr || end == nullptr) return;
    JobView& job = *known;
    AttemptNote& note = job.notes.attempts[e.attempt];
    FailedExtra failed;
    if (DecodeFields(a.record_.extra, &failed)) {
      note.record = failed.record;
      note.stderr_tail = failed.stderr_tail;
    }
    note.message = e.message;
    if (end->state != AttemptState::kFailed) return;  // it was being stopped
    job.notes.last_failure = NameOf(e.attempt, job) + " failed on " + Name(e.worker) + ": " + OneLine(WithPlace(note));
  }
  void operator()(const sched::AttemptRefused& e) {
    if (a.EndOf(e.attempt) == nullptr) return;
    ++a.totals_->attempts.refused;
    JobView* known = a.Known(e.attempt.task.job);
    if (known == nullptr) return;
    JobView& job = *known;
    job.notes.attempts[e.attempt].message = "not started: " + e.why;
    const uint32_t times = ++job.notes.stages[e.attempt.task.stage].refused[e.attempt.task.task];
    if (times < kRefusalsShown) return;
    job.notes.last_failure = NameOf(e.attempt, job) + " was not started by " + Name(e.worker) + ", as " +
                             std::to_string(times - 1) + " before it: " + OneLine(e.why);
  }
  void operator()(const sched::InputsMissing& e) { NoteEnded("not started: " + e.why); }
  // No decision precedes the end of an attempt that its worker ended unasked, so a message explains it. It names the
  // journal: a crash may have lost the record that led to a Kill.
  void operator()(const sched::AttemptKilled& e) {
    JobView* job = a.Known(e.attempt.task.job);
    const AttemptChange* end = a.EndOf(e.attempt);
    if (job != nullptr && end != nullptr && !end->asked) {
      job->notes.attempts[e.attempt].message = "ended by its worker; the journal has no request for it";
    }
  }
  void operator()(const sched::WorkerLost& e) {
    NoteEnded("its worker was lost: " + e.why);
    for (const Replica& from : a.changes_.not_made) a.NotMade(from, e.worker, "it was lost: " + e.why);
  }
  void operator()(const sched::WorkerRegistered&) { NoteEnded("its worker came back without it"); }
  void NoteEnded(const std::string& message) {
    for (const AttemptChange& change : a.changes_.attempts) {
      JobView* job = a.Known(change.id.task.job);
      if (change.ended && job != nullptr) job->notes.attempts[change.id].message = message;
    }
  }
  // The decisions after it show that the task was launched again.
  void operator()(const sched::ReplicaLost& e) {
    const TaskId& id = e.replica.output.task;
    JobView* job = a.Known(id.job);
    if (job == nullptr || job->JobProjection::Find(e.replica) == nullptr) return;
    const size_t left = job->Find(id)->replicas.size() - 1;
    const std::string next = left == 0   ? "no other replica is left, so the task runs again if its output is needed"
                             : left == 1 ? "1 other replica is left to read"
                                         : std::to_string(left) + " other replicas are left to read";
    const sched::Reason reason{sched::ReasonCode::kOutputLost, "", {double(e.replica.output.generation)}};
    a.Add(What::kOutputLost, {id, e.replica.attempt}, id.job, e.replica.worker, reason, OneLine(e.why) + "; " + next);
  }
  void operator()(const sched::ReplicaNotMade& e) { a.NotMade(e.from, e.worker, e.why); }
  void operator()(const sched::StagePlanned& e) { Planned(e); }
  void Planned(const sched::StagePlanned& e) {
    JobView* job = a.find_(e.job);
    if (job == nullptr || e.stage >= job->stages.size() || !e.error.empty()) return;
    std::string text = CutText(*job, e.stage);
    if (!text.empty()) job->notes.warnings.try_emplace(e.stage, std::move(text));
  }
  void operator()(const sched::OperatorsKnown& e) {
    JobView* job = a.Known(e.job);
    if (job == nullptr) return;
    for (const uint32_t s : e.indeterminate) {
      if (s >= job->spec.stages.size()) continue;
      job->notes.warnings.try_emplace(
          s, "stage '" + job->spec.stages[s].name +
                 "' is not deterministic: in an earlier job its operator "
                 "did not give the same records for the same input; none of its tasks is cloned");
    }
  }
  void operator()(const sched::JobTakenOver& e) {
    for (const sched::StagePlanned& plan : e.plans) Planned(plan);
    a.Add(What::kTakenOver, {}, e.submitted.job, {}, {});
  }
  // The others have no annotation, or the projection and the decisions have it.
  void operator()(const sched::JobSubmitted&) {}
  void operator()(const sched::JobKillAsked&) {}
  void operator()(const sched::AttemptProgress&) {}
  void operator()(const sched::AttemptFinished&) {}
  void operator()(const sched::AttemptStarted&) {}
  void operator()(const sched::ConfigChanged&) {}
  void operator()(const sched::WorkerDraining&) {}
  void operator()(const sched::WorkerAway&) {}
  void operator()(const sched::OutputsLeaving&) {}
  void operator()(const sched::FetchDone&) {}
  void operator()(const sched::FetchFailed&) {}
  void operator()(const sched::ReplicaMade&) {}
  void operator()(const sched::ProfileLoaded&) {}
  void operator()(const sched::TimerDue&) {}
  void operator()(const sched::QueueSet&) {}
  void operator()(const sched::JobSet&) {}
  void operator()(const sched::LeaseSet&) {}
  void operator()(const sched::JobGivenUp&) {}
};

void Annotator::Event() { std::visit(OfEvent{*this}, record_.stamped.event); }

void Annotator::Changes() {
  for (const AttemptChange& change : changes_.attempts) {
    JobView* job = find_(change.id.task.job);
    if (job == nullptr) continue;
    uint64_t& taken = job->notes.stages[change.id.task.stage].taken_bytes;
    // A worker may report any number.
    const auto by = static_cast<uint64_t>(change.taken_bytes);
    taken = change.taken_bytes < 0 ? taken - std::min(taken, 0 - by) : taken + std::min(by, UINT64_MAX - taken);
    if (change.ended) NoteEnd(change, job);
  }
}

void Annotator::NoteEnd(const AttemptChange& change, JobView* job) {
  const bool failed = change.state == AttemptState::kFailed, killed = change.state == AttemptState::kKilled;
  const bool won = change.state == AttemptState::kCommitted, kept = change.state == AttemptState::kReplica;
  if (!job->brief) {
    AttemptNote& note = job->notes.attempts[change.id];
    note.sequence = sequence_;
    note.failed = failed;
    if (won || kept) note.verdict = won ? Verdict::kWinner : Verdict::kReplicaKept;
  }
  job->notes.stages[change.id.task.stage].failed += failed;
  totals_->attempts.failed += failed;
  totals_->attempts.committed += won;
  totals_->attempts.killed += killed;
  for (CauseCounts* causes : {&job->notes.causes, &totals_->causes}) {
    sched::CauseCount& cause = (*causes)[CauseIndex(change.cause)];
    cause.won += won;
    if (!won) cause.wasted = cause.wasted + change.held;
  }
  auto read = job->notes.reads.lower_bound({change.id, {}});
  while (read != job->notes.reads.end() && read->first.first == change.id) read = job->notes.reads.erase(read);
  if (won) return;
  for (CloneCounts* clones : {&job->notes.clones, &totals_->clones}) {
    if (!change.cloned) break;
    clones->killed += change.cause == Cause::kClone && killed;
    clones->extra = clones->extra + change.held;
  }
  for (LentCounts* lent : {&job->notes.lent, &totals_->lent}) {
    lent->killed += change.cause == Cause::kOpportunistic && killed;
    if (change.lent && !change.cloned) lent->extra = lent->extra + change.held;
  }
}

void Annotator::Made(const Replica& replica) {
  const TaskId& id = replica.output.task;
  JobView* job = find_(id.job);
  ++totals_->replicas.made;
  totals_->replicas.bytes += job->Find(id)->manifest.bytes;
  // The reason is that of the request.
  sched::Reason reason;
  for (const WhyLine& line : job->notes.why[{id.stage, id.task}].All()) {
    if (line.what == What::kReplicated && line.worker == replica.worker && line.attempt.number == replica.attempt) {
      reason = line.reason;
    }
  }
  Add(What::kReplicaMade, {id, replica.attempt}, id.job, replica.worker, reason);
}

void Annotator::NotMade(const Replica& from, WorkerId to, const std::string& why) {
  const TaskId& id = from.output.task;
  Add(What::kReplicaNotMade, {id, from.attempt}, id.job, to, {}, OneLine(why));
}

struct Annotator::OfDecision {
  Annotator& a;

  void operator()(const sched::Launch& d) {
    JobView* job = a.find_(d.attempt.task.job);
    if (job == nullptr) return;
    job->notes.attempts[d.attempt] = {.reason = d.reason};
    ++a.totals_->attempts.launched;
    for (CauseCounts* causes : {&job->notes.causes, &a.totals_->causes}) ++(*causes)[CauseIndex(d.cause)].launched;
    StageNotes& stage = job->notes.stages[d.attempt.task.stage];
    if (!stage.started) {
      stage.started = true;
      stage.first_launch = a.at();
    }
    a.Add(What::kLaunched, d.attempt, job->id, d.worker, d.reason);
  }
  void operator()(const sched::Accept& d) {
    JobView* job = a.Known(d.attempt.task.job);
    if (job == nullptr) return;
    if (d.winner) job->notes.stages[d.attempt.task.stage].last_commit = a.at();
    a.Add(d.winner ? What::kCommitted : What::kKeptAsReplica, d.attempt, job->id, d.worker, d.reason);
  }
  void operator()(const sched::Refuse& d) {
    if (HasNote(d.attempt)) a.Add(What::kRefused, d.attempt, d.attempt.task.job, d.worker, d.reason);
  }
  // A worker may report that it runs an attempt that never was.
  void operator()(const sched::Kill& d) {
    if (HasNote(d.attempt)) a.Add(What::kAskedToStop, d.attempt, d.attempt.task.job, d.worker, d.reason);
  }
  void operator()(const sched::TakeBack& d) {
    a.Add(What::kTakenBack, d.attempt, d.attempt.task.job, d.worker, d.reason);
  }
  void operator()(const sched::Bind& d) { a.Bound(d); }
  void operator()(const sched::DropReplica&) {}  // see Jobs::Apply: only where the replica was known
  void operator()(const sched::PlanStage& d) {
    a.Add(What::kStagePlanned, {{d.job, d.stage, 0}, 0}, d.job, {}, d.reason);
  }
  void operator()(const sched::CommitJob& d) {
    JobView* job = a.find_(d.job);
    if (job == nullptr) return;
    job->notes.steering.End(a.at());
    a.Add(What::kJobCommitted, {}, d.job, {}, d.reason);
  }
  void operator()(const sched::FailJob& d) {
    JobView* job = a.find_(d.job);
    if (job == nullptr) return;
    job->notes.steering.End(a.at());
    if (!d.message.empty())
      job->error = d.killed ? d.message : FailureSummary(*job, d.message, LimitOfOthers(d.reason));
    a.Add(d.killed ? What::kJobKilled : What::kJobFailed, {}, d.job, {}, d.reason);
  }
  void operator()(const sched::MarkIndeterminate& d) {
    a.Indeterminate(d);
    a.Add(What::kOtherContent, {d.task, 0}, d.task.job, {}, d.reason);
  }
  void operator()(const sched::SetShare& d) {
    JobView* job = a.find_(d.job);
    if (job == nullptr) return;
    if (job->notes.steering.slots != d.slots) a.Add(What::kAllotted, {}, d.job, {}, d.reason);
    job->notes.steering.Note(d, a.at());
  }
  void operator()(const sched::ReplicateOutput& d) {
    const TaskId& id = d.from.output.task;
    a.Add(What::kReplicated, {id, d.from.attempt}, id.job, d.to, d.reason);
  }
  void operator()(const sched::Spare& d) { a.Add(What::kSpared, d.attempt, d.attempt.task.job, d.worker, d.reason); }
  void operator()(const sched::Remember&) {}
  void operator()(const sched::WakeAt&) {}

  // Returns the limit that the job has reached, if its last failure does not count against --max-attempts; else 0.
  uint64_t LimitOfOthers(const sched::Reason& reason) const {
    const auto* failed = std::get_if<sched::AttemptFailed>(&a.record_.stamped.event);
    if (reason.code != sched::ReasonCode::kTooManyFailures || reason.numbers.size() < 2) return 0;
    if (failed != nullptr && (failed->kind == FailureKind::kUser || failed->kind == FailureKind::kUserFinal)) return 0;
    return static_cast<uint64_t>(reason.numbers[1]);
  }
  bool HasNote(const AttemptId& attempt) const {
    JobView* job = a.find_(attempt.task.job);
    return job != nullptr && job->notes.Find(attempt) != nullptr;
  }
};

void Annotator::Decision(const sched::Decision& decision) { std::visit(OfDecision{*this}, decision); }

void Annotator::Dropped(const sched::DropReplica& drop) {
  const TaskId& id = drop.replica.output.task;
  Add(What::kReplicaDropped, {id, drop.replica.attempt}, id.job, drop.replica.worker, drop.reason);
}

void Annotator::Bound(const sched::Bind& bind) {
  JobView* job = find_(bind.reader.task.job);
  if (job == nullptr || job->notes.Find(bind.reader) == nullptr) return;
  const auto [bound, first] = job->notes.reads.try_emplace({bind.reader, bind.replica.output.task}, bind.replica);
  if (!first && bound->second == bind.replica) return;  // repeated, since its worker was away
  bound->second = bind.replica;
  for (CloneCounts* clones : {&job->notes.clones, &totals_->clones}) {
    if (!first)
      ++clones->rebound;
    else if (bind.exclusive)
      ++clones->exclusive;
    else
      ++clones->contended;
  }
  const std::string from = "it reads the output of " + NameOf({bind.replica.output.task, bind.replica.attempt}, *job);
  const std::string again = first ? "" : ", since the replica that it was bound to is gone";
  Add(What::kBound, bind.reader, job->id, bind.replica.worker, bind.reason, from + again + ": " + Explain(bind.reason));
}

void Annotator::Indeterminate(const sched::MarkIndeterminate& mark) {
  const TaskId& id = mark.task;
  JobView* job = Known(id.job);
  if (job == nullptr) return;
  const StoredOutput& committed = before_ ? before_ : job->Find(id)->output;
  FinishedExtra other;
  std::string where;
  if (committed && DecodeFinished(record_.extra, &other) && committed.rows() == other.rows.size()) {
    for (size_t p = 0; p < other.rows.size() && where.empty(); ++p) {
      if (committed.Row(p).content != other.rows[p].content) where = ", in partition " + std::to_string(p);
    }
  }
  const std::string text = "stage '" + job->spec.stages[id.stage].name + "' is not deterministic: two runs of " +
                           Name(id, job->letter(id.stage)) + " did not give the same records" + where +
                           "; its readers all read the same ones, and none of its tasks is cloned any more";
  job->notes.warnings.try_emplace(id.stage, text);
}

}  // namespace mr::master
