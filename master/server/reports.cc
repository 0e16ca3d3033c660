// Workers: registration, leases, reports.
#include <glog/logging.h>

#include <algorithm>

#include "common/base/text.h"
#include "common/io/clock.h"
#include "common/rpc/connection.h"
#include "common/rpc/wire.h"
#include "master/server/brain.h"

namespace mr::master {
namespace {

constexpr size_t kMaxLabelBytes = 256;  // of a label, and of a rack (guess)

Status CheckInfo(const RegisterIn& in) {
  const auto& info = in.info;
  if (in.extra.name.empty() || in.extra.name.size() > 64 ||
      in.extra.name.find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.-") !=
          std::string::npos) {
    return InvalidArgument("a worker's name has 1 to 64 letters, digits, '_', '.', '-'");
  }
  if (info.incarnation == 0) return InvalidArgument("a worker needs an incarnation");
  for (const std::string& label : info.labels) {
    if (label.size() > kMaxLabelBytes) {
      return InvalidArgument("a worker's label has at most " + std::to_string(kMaxLabelBytes) + " bytes, not " +
                             std::to_string(label.size()));
    }
  }
  if (info.rack.size() > kMaxLabelBytes) {
    return InvalidArgument("the name of a rack has at most " + std::to_string(kMaxLabelBytes) + " bytes");
  }
  if (info.address.size() > 300) return InvalidArgument("a worker's address is too long");  // DNS: 253 and a port
  if (info.slots.total == 0 || info.slots.total > 10'000) return InvalidArgument("a worker has 1 to 10000 slots");
  if (auto address = rpc::ParseHostPort(info.address); !address.ok()) return address.status();
  return Status::Ok();
}

}  // namespace

void Brain::Register(uint64_t session, RegisterIn in, std::function<void(RegisterOut)> reply) {
  if (Status status = CheckInfo(in); !status.ok()) return reply({status, {}, {}});
  // Before an id is given, and before it may be refused: what it has seen holds either way.
  NoteSeen(in.extra.name, in.seen);
  bool fresh = false;
  WorkerView& worker = workers_.Named(in.extra.name, &fresh);
  const WorkerId id = worker.id;
  if (fresh) {
    Append(journal::RecordClass::kHard, RecordKind::kWorker, EncodeFields(WorkerNamed{in.extra.name, id}));
  }
  if (Status status = workers_.MayRegister(worker, in.info.incarnation, Lived()); !status.ok()) {
    return reply({status, {}, {}});
  }
  if (worker.session != 0 && worker.session != session) outlets_.CloseSession(worker.session);
  if (worker.info.incarnation != in.info.incarnation) worker.heartbeat_connections = 0;
  const bool was_given_up = !worker.alive && worker.info.incarnation == in.info.incarnation;
  in.info.worker = id;
  // Said by the event itself, so that it gets nothing in the very step of its registration.
  in.info.draining = worker.drained_by_user || worker.distrusted() || in.leaving;
  worker.alive = true;
  worker.away = worker.awaited = false;
  worker.answered = false;
  worker.session = session;
  worker.epoch = epoch_;
  worker.info = in.info;
  worker.info.inventory.clear();
  worker.info.running.clear();
  worker.http_port = in.extra.http_port;
  worker.capacity_bytes = in.extra.capacity_bytes;
  worker.used_bytes = in.extra.used_bytes;
  worker.pid = in.extra.pid;
  worker.reports_given_up = in.reports_given_up;
  worker.last_beat = worker.registered = worker.loop_moved = Lived();
  worker.loop_stalled = worker.full = false;  // its first beat says whether it is full
  worker.leaving = in.leaving;
  worker.stages.clear();
  worker.directories.clear();
  worker.holds.clear();
  worker.batches = 0;
  outgoing_[id] = {};

  const auto inventory = in.info.inventory;
  const auto running = in.info.running;
  RegisterOut out{Status::Ok(), id, {}, was_given_up, epoch_, DurableNow()};
  const Fed fed = Feed(std::move(in.info), EncodeFields(in.extra));
  for (const auto& decision : fed.decisions) {
    const auto* drop = std::get_if<sched::DropReplica>(&decision);
    if (drop != nullptr && drop->replica.worker == id) out.drop.push_back(drop->replica);
  }
  ApplyDfs(dfs::WorkerJoined{Stamp(), id, worker.info.incarnation, worker.info.address, worker.info.rack,
                             worker.capacity_bytes, worker.used_bytes, std::move(in.blocks), worker.drained_by_user});
  if (!in.leaving) {
    // Always: it may have missed the last change.
    Send(&worker, 16, [on = worker.drained_by_user](rpc::Command::Builder out) { out.setDrain(on); });
  }
  LOG(INFO) << Name(id) << " registered from " << worker.info.address << " with " << worker.info.slots.total
            << " slots, " << inventory.size() << " outputs, " << running.size() << " running"
            << (in.leaving               ? ", leaving"
                : worker.drained_by_user ? ", drained by an operator"
                                         : "")
            << (was_given_up ? "; it was given up, and none of these count" : "");
  std::set<JobId> forgotten;
  const auto look = [&](JobId id) {
    const JobView* job = jobs_.Find(id);
    if (job == nullptr || (Ended(job->state) && job->told)) forgotten.insert(id);
  };
  for (const auto& replica : inventory) look(replica.output.task.job);
  // Perhaps it has ended, and the worker repeats a report of it that does not arrive.
  for (const auto& attempt : running) look(attempt.task.job);
  for (const auto& replica : inventory) {
    if (!forgotten.contains(replica.output.task.job)) worker.holds.insert(replica.output.task.job);
  }
  for (const Replication& r : jobs_.ReplicationsTo(id)) SendReplicate(r.from, id);
  for (const auto& attempt : running) {
    const AttemptView* known = jobs_.Find(attempt);
    if (known != nullptr && Live(known->state) && known->worker == id && !known->stop_asked) {
      // It goes on; what it reads from must be known to it again.
      SendStage(&worker, *jobs_.Find(attempt.task.job), attempt.task.stage);
      continue;
    }
    Send(&worker, 64, [attempt](rpc::Command::Builder b) { rpc::ToWire(attempt, b.initKill()); });
  }
  for (const JobId job : forgotten) {
    Send(&worker, 32, [job](rpc::Command::Builder b) { rpc::ToWire(job, b.initEndJob()); });
  }
  outbox_.Hold(fed.sequence, [reply = std::move(reply), out = std::move(out)] { reply(out); });
  Settle();
}

void Brain::RegisterAnswered(uint64_t session) {
  if (WorkerView* worker = workers_.FindSession(session)) worker->answered = true;
}

void Brain::SessionEnded(uint64_t session) {
  WorkerView* worker = workers_.FindSession(session);
  if (worker == nullptr) return;
  worker->session = 0;
  worker->answered = false;
  worker->session_lost = Lived();
  outgoing_[worker->id] = {};
  CheckLeases();
}

void Brain::HeartbeatConnected(Incarnation incarnation, bool connected) {
  WorkerView* worker = workers_.FindIncarnation(incarnation);
  if (worker == nullptr) return;
  if (connected) {
    ++worker->heartbeat_connections;
  } else if (worker->heartbeat_connections > 0) {
    --worker->heartbeat_connections;
    CheckLeases();
  }
}

bool Brain::Beat(WorkerId id, Incarnation incarnation, Duration loop_silent, const DiskRoom& room) {
  WorkerView* worker = workers_.FindAlive(id, incarnation);
  if (worker == nullptr || worker->session == 0) return false;
  worker->last_beat = Lived();
  NoteLoop(worker, loop_silent);
  NoteRoom(worker, room);
  return true;
}

void Brain::NoteLoop(WorkerView* worker, Duration silent) {
  worker->loop_moved = std::max(worker->loop_moved, Instant{worker->last_beat.ns - silent.ns});
  const bool stalled = silent >= kLoopStall;
  if (stalled == worker->loop_stalled) return;
  worker->loop_stalled = stalled;
  const Incarnation incarnation = worker->info.incarnation;
  if (stalled) {
    LOG(WARNING) << Name(worker->id) << " beats, but its control loop has not moved for " << HumanDuration(silent)
                 << ": it gets no new attempts until it does";
    Feed(sched::WorkerAway{worker->id, incarnation});
    return;
  }
  LOG(INFO) << Name(worker->id) << " moves again";
  if (worker->TakesAttempts()) Feed(sched::WorkerDraining{worker->id, incarnation, false});
}

void Brain::Lose(WorkerId id, const std::string& why) {
  WorkerView* worker = workers_.Find(id);
  if (worker == nullptr || !worker->alive) return;
  LOG(WARNING) << Name(id) << " (" << worker->info.address << ") is lost: " << why;
  worker->alive = false;
  worker->away = false;
  worker->lost = Lived();
  if (worker->session != 0) outlets_.CloseSession(worker->session);
  worker->session = 0;
  worker->heartbeat_connections = 0;
  outgoing_[id] = {};
  Feed(sched::WorkerLost{id, worker->info.incarnation, why});
  ApplyDfs(dfs::WorkerGone{Stamp(), id, worker->info.incarnation});
  for (const JobId job : std::set<JobId>(uncleaned_)) CleanUp(job);
  for (auto& [job_id, job] : jobs_.jobs()) {
    if (!Ended(job.state)) MarkChanged(job_id);
  }
  Settle();
}

void Brain::CheckLeases() {
  const Instant now = Lived();
  if (now < judge_from_) return;  // the next tick
  for (const auto& [id, why] : workers_.Expired(now)) Lose(id, why);
  if (shorter_wait_ && now >= shorter_wait_->first) {
    Feed(sched::LeaseSet{shorter_wait_->second});
    shorter_wait_.reset();
  }
}

void Brain::Tick() {
  CheckLeases();
  FailWithoutRoom();
  FeedHeldReports();
  PlanLate();
  loop_.At(Now() + kTick, [this] { Tick(); });
}

void Brain::GiveUpWaiting(WorkerView* worker) {
  if (!worker->awaited) return;
  worker->awaited = false;
  ApplyDfs(dfs::WorkerGivenUp{Stamp(), worker->id});
}

void Brain::Drain(WorkerId id, bool on, std::function<void(Status)> reply) {
  WorkerView* worker = workers_.Find(id);
  if (worker == nullptr) return reply(NotFound("there is no worker " + Name(id)));
  worker->drained_by_user = on;
  if (on) GiveUpWaiting(worker);
  if (!on && worker->wrong_outputs != 0) {
    worker->wrong_outputs = 0;
    Append(journal::RecordClass::kHard, RecordKind::kWrongOutputs, EncodeFields(WorkerWrongOutputs{id, 0}));
  }
  const uint64_t sequence =
      Append(journal::RecordClass::kHard, RecordKind::kDrained, EncodeFields(WorkerDrained{id, on}));
  LOG(INFO) << Name(id) << (on ? " is drained" : " is wanted again") << ": an operator asked for it";
  // One that is away or leaves gets nothing either way, until it has registered again.
  if (worker->alive && !worker->away && !worker->leaving && (on || worker->TakesAttempts())) {
    Feed(sched::WorkerDraining{id, worker->info.incarnation, on});
  }
  if (worker->alive) {
    ApplyDfs(dfs::WorkerDrained{Stamp(), id, on});
    if (!worker->leaving) Send(worker, 16, [on](rpc::Command::Builder out) { out.setDrain(on); });
  }
  outbox_.Hold(sequence, [reply = std::move(reply)] { reply(Status::Ok()); });
}

void Brain::Exclude(WorkerId id, bool on, std::function<void(Status)> reply) {
  WorkerView* worker = workers_.Find(id);
  if (worker == nullptr) return reply(NotFound("there is no worker " + Name(id)));
  worker->excluded = on;
  if (on) GiveUpWaiting(worker);
  const uint64_t sequence =
      Append(journal::RecordClass::kHard, RecordKind::kExcluded, EncodeFields(WorkerExcluded{id, on}));
  LOG(INFO) << Name(id) << (on ? " is excluded" : " may register again") << ": an operator asked for it";
  if (on) Lose(id, "an operator excluded it");
  outbox_.Hold(sequence, [reply = std::move(reply)] { reply(Status::Ok()); });
}

void Brain::Leaving(WorkerId id, Incarnation incarnation) {
  WorkerView* worker = workers_.FindAlive(id, incarnation);
  if (worker == nullptr || worker->leaving) return;
  worker->leaving = true;
  LOG(INFO) << Name(id) << " leaves: nothing new goes there";
  Feed(sched::WorkerDraining{id, incarnation, true});
}

void Brain::Progress(sched::AttemptProgress progress) {
  WorkerView* worker = workers_.FindAlive(progress.worker, progress.incarnation);
  if (worker == nullptr) return;
  if (journal_full_) return;  // the reserve is for what must be kept
  for (const auto& report : progress.reports) MarkChanged(report.attempt.task.job);
  Feed(std::move(progress));
}

void Brain::Report(uint64_t session, WorkerId id, Incarnation incarnation, std::vector<NumberedReport> reports,
                   std::function<void(ReportOut)> reply) {
  WorkerView* worker = workers_.Find(id);
  OpenReport open{session, id, {std::vector<Verdict>(reports.size(), Verdict::kStale), nullptr}, std::move(reply)};
  for (size_t i = 0; worker != nullptr && i < reports.size(); ++i) {
    if (HoldForReplicas(id, incarnation, reports[i])) {
      open.out.verdicts[i] = Verdict::kLater;
      continue;
    }
    Verdict verdict = Verdict::kNoted;
    const uint64_t hold = FeedReport(id, incarnation, std::move(reports[i].report), &verdict);
    const bool now = hold <= outbox_.durable();
    open.out.verdicts[i] = now ? verdict : Verdict::kLater;
    if (now) continue;
    outbox_.Hold(hold, [this, id, incarnation, number = reports[i].number, verdict] {
      GiveVerdict(id, incarnation, number, verdict);
    });
  }
  open_reports_.push_back(std::move(open));
}

// Feeds one report to the scheduler. Each operator returns the sequence that the answer waits for; 0: none.
struct Brain::ReportFeeder {
  Brain& brain;
  const Reporter from;
  Verdict* const verdict;

  uint64_t operator()(report::Unknown) {
    *verdict = Verdict::kStale;
    return 0;
  }
  uint64_t operator()(report::Started) {
    brain.Feed(sched::AttemptStarted{from.attempt, from.worker, from.incarnation});
    return 0;
  }
  uint64_t operator()(report::Finished finished);
  uint64_t operator()(report::Failed failed) {
    LOG(INFO) << "attempt failed: " << brain.jobs_.NameOf(from.attempt) << " on " << Name(from.worker) << ": "
              << failed.message;
    const FailedExtra extra{std::move(failed.record), std::move(failed.stderr_tail)};
    brain.Feed(
        sched::AttemptFailed{from.attempt, from.worker, from.incarnation, failed.kind, std::move(failed.message)},
        EncodeFields(extra));
    return Ended();
  }
  uint64_t operator()(report::Refused refused) {
    brain.Feed(sched::AttemptRefused{from.attempt, from.worker, from.incarnation, std::move(refused.why)});
    return Ended();
  }
  uint64_t operator()(report::Killed) {
    brain.Feed(sched::AttemptKilled{from.attempt, from.worker, from.incarnation});
    return Ended();
  }
  uint64_t operator()(report::FetchDone done) {
    brain.Feed(sched::FetchDone{from.attempt, done.replica, done.bytes, done.took, done.readers});
    return 0;
  }
  uint64_t operator()(report::FetchFailed failed) {
    brain.Feed(sched::FetchFailed{from.attempt, failed.replica, std::move(failed.why)});
    brain.Suspect(failed.replica, !failed.unreachable);
    return 0;
  }
  // Whole and checked, as its worker says. A repeat gets the same answer: the step is the same again.
  uint64_t operator()(report::ReplicaMade made) {
    made.replica.worker = from.worker;
    made.replica.incarnation = from.incarnation;
    const Fed fed = brain.Feed(sched::ReplicaMade{made.replica});
    *verdict = brain.jobs_.FindReplica(made.replica) != nullptr ? Verdict::kReplicaKept : Verdict::kStale;
    return fed.sequence;
  }
  uint64_t operator()(const report::ReplicaNotMade& failed) {
    // Not for a repeat of the report: it would count as another try.
    if (brain.jobs_.Replicating(from.worker, failed.from.output)) {
      brain.ReplicaNotMade(failed.from, from.worker, failed.why);
    }
    if (!failed.here) brain.Suspect(failed.from, true);
    return 0;
  }

  uint64_t Ended() {
    brain.CleanUp(from.attempt.task.job);
    return 0;
  }
};

uint64_t Brain::FeedReport(WorkerId id, Incarnation incarnation, mr::Report report, Verdict* verdict) {
  MarkChanged(report.attempt.task.job);
  return std::visit(ReportFeeder{*this, {report.attempt, id, incarnation}, verdict}, std::move(report.what));
}

uint64_t Brain::ReportFeeder::operator()(report::Finished finished) {
  const AttemptId& attempt = from.attempt;
  const AttemptView* known = brain.jobs_.Find(attempt);
  if (known != nullptr && known->worker == from.worker && known->incarnation == from.incarnation &&
      (known->state == AttemptState::kCommitted || known->state == AttemptState::kReplica)) {
    // Its answer was lost on the way: the same one again.
    *verdict = known->state == AttemptState::kCommitted ? Verdict::kWinner : Verdict::kReplicaKept;
    return known->sequence;
  }
  TaskOutput& output = finished.output;
  const FinishedExtra extra{
      output.partitions, std::move(output.rows), std::move(output.files), std::move(finished.counters), "", ""};
  if (brain.FailForBadRecords(from, finished, extra)) {
    *verdict = Verdict::kStale;
    return Ended();
  }
  const Fed fed = brain.Feed(sched::AttemptFinished{attempt, from.worker, from.incarnation, output.manifest,
                                                    std::move(finished.consumed), finished.ran, finished.waited},
                             EncodeFinished(extra, finished.hot_keys));
  *verdict = FinishedVerdict(attempt, fed.decisions);
  const JobId job = attempt.task.job;
  if (JobView* view = brain.jobs_.Find(job); view != nullptr && *verdict == Verdict::kWinner) {
    NoteGrown(view, finished.grown);
    brain.bad_records_.Committed(*view, attempt.task, extra, finished.bad_records);
    if (brain.skew_.Committed(attempt.task, view->plan.stages[attempt.task.stage], output.manifest.records,
                              output.manifest.bytes, extra, output.partition_kib, finished.hot_keys)) {
      view->skew = brain.skew_.Of(job);
    }
    brain.NoteSizes(attempt.task, std::move(output.partition_kib));
    brain.PlanLate(job);
  }
  brain.CleanUp(job);
  return fed.sequence;
}

// Whether an output that it read is not, or no longer, the committed one: then what it counted says nothing of the job,
// and the scheduler refuses the report. What it left out the scheduler finds.
bool Brain::ReadOtherContent(const AttemptId& attempt, const report::Finished& finished) const {
  const sched::Job* job = scheduler_->state().FindJob(attempt.task.job);
  return job != nullptr && std::any_of(finished.consumed.begin(), finished.consumed.end(), [job](const Consumed& c) {
           const bool exists = c.stage < job->stages.size() && c.task < job->stages[c.stage].contents.size();
           const sched::Content* content = exists ? &job->stages[c.stage].contents[c.task] : nullptr;
           return content == nullptr || content->generation == 0 || content->digest != c.content;
         });
}

bool Brain::FailForBadRecords(const Reporter& from, const report::Finished& finished, const FinishedExtra& extra) {
  const AttemptView* known = jobs_.Find(from.attempt);
  if (known == nullptr || known->worker != from.worker || known->incarnation != from.incarnation ||
      !Live(known->state)) {
    return false;
  }
  const TaskId& task = from.attempt.task;
  const JobView& job = *jobs_.Find(task.job);
  if (Ended(job.state) || job.stages[task.stage].tasks[task.task].committed ||
      ReadOtherContent(from.attempt, finished)) {
    return false;
  }
  const std::string excess = bad_records_.Excess(job, task, extra, finished.bad_records);
  if (excess.empty()) return false;
  LOG(INFO) << Name(job.id) << " fails: " << excess;
  Feed(sched::AttemptFailed{from.attempt, from.worker, from.incarnation, FailureKind::kUserFinal, excess},
       EncodeFields(FailedExtra{finished.bad_records.empty() ? "" : finished.bad_records.front(), ""}));
  return true;
}

void Brain::NoteGrown(JobView* job, const std::vector<std::string>& uris) {
  for (const std::string& uri : uris) {
    if (job->grown.size() == kMaxGrownTold || !job->grown.insert(uri).second) continue;
    LOG(WARNING) << Name(job->id) << ": input " << uri << " grew while the job ran";
  }
}

Verdict Brain::FinishedVerdict(const AttemptId& attempt, const std::vector<sched::Decision>& decisions) {
  for (const auto& decision : decisions) {
    if (const auto* accept = std::get_if<sched::Accept>(&decision); accept && accept->attempt == attempt) {
      return accept->winner ? Verdict::kWinner : Verdict::kReplicaKept;
    }
    if (const auto* refuse = std::get_if<sched::Refuse>(&decision); refuse && refuse->attempt == attempt) {
      if (refuse->reason.code == sched::ReasonCode::kEqualDigest) return Verdict::kReplicaDropped;
      if (refuse->reason.code == sched::ReasonCode::kDifferentDigest) return Verdict::kDiffers;
      return Verdict::kStale;
    }
  }
  return Verdict::kStale;
}

void Brain::ReplicaNotMade(const Replica& from, WorkerId to, const std::string& why) {
  LOG(INFO) << "no replica of the output of " << jobs_.NameOf({from.output.task, from.attempt}) << " was made on "
            << Name(to) << ": " << why;
  Feed(sched::ReplicaNotMade{from, to, why});
}

// A reader's word alone condemns nothing: the replica's worker looks itself, at its bytes where these are in doubt.
void Brain::Suspect(const Replica& replica, bool verify) {
  const ReplicaView* view = jobs_.FindReplica(replica);
  if (view == nullptr || probing_.contains(replica)) return;
  const WorkerView* worker = workers_.FindAlive(replica.worker, replica.incarnation);
  if (worker == nullptr) {
    Feed(sched::ReplicaLost{replica, "its worker is gone"});
    return;
  }
  // Its own fate is decided first. Readers that still want it complain again.
  if (worker->away || worker->session == 0 || StandsStill(*worker)) return;
  probing_.insert(replica);
  const uint32_t partitions = view->extra == nullptr ? 0 : view->extra->partitions;
  outlets_.Probe({worker->info.address, replica, verify && view->extra != nullptr, view->manifest.content, partitions},
                 [this, replica](const Looked& looked) {
                   probing_.erase(replica);
                   if (jobs_.FindReplica(replica) != nullptr) LookedAt(replica, looked);
                 });
}

bool Brain::StandsStill(const WorkerView& worker) {
  const Instant now = Lived();
  return now < judge_from_ || worker.loop_stalled || now - worker.loop_moved >= kLoopPause;
}

void Brain::LookedAt(const Replica& replica, const Looked& looked) {
  const std::string name =
      "the output of " + jobs_.NameOf({replica.output.task, replica.attempt}) + " on " + Name(replica.worker);
  switch (looked.at) {
    case Looked::At::kWhole:
      LOG(INFO) << name << " is whole: a reader's complaint about it came from the network or from its own worker";
      return;
    case Looked::At::kUnknown: return;
    case Looked::At::kUnreachable:
      // Its data server is on the loop that stands still; a master that stood still itself may have its answer unread.
      if (const WorkerView* worker = workers_.FindAlive(replica.worker, replica.incarnation);
          worker != nullptr && StandsStill(*worker)) {
        LOG(INFO) << name << " stays, though its worker did not answer: it or this master stands still";
        return;
      }
      Feed(sched::ReplicaLost{replica, "its worker cannot be reached: " + looked.why});
      return;
    case Looked::At::kGone: Feed(sched::ReplicaLost{replica, "its worker does not have it any more"}); return;
    case Looked::At::kDamaged:
      LOG(WARNING) << name << " is damaged: " << looked.why;
      Feed(sched::ReplicaLost{replica, "damaged on its worker's disk: " + looked.why});
      return;
    case Looked::At::kOtherContent:
      LOG(WARNING) << name << " was damaged in memory: " << looked.why;
      Feed(sched::ReplicaLost{replica, "damaged in its worker's memory before it was stored: " + looked.why});
      NoteWrongOutput(replica.worker);
      return;
  }
}

void Brain::NoteWrongOutput(WorkerId id) {
  WorkerView* worker = workers_.Find(id);
  if (worker == nullptr) return;
  ++worker->wrong_outputs;
  Append(journal::RecordClass::kHard, RecordKind::kWrongOutputs,
         EncodeFields(WorkerWrongOutputs{id, worker->wrong_outputs}));
  if (worker->wrong_outputs != kDistrustedFrom) return;
  LOG(ERROR) << Name(id) << " at " << worker->info.address << " gets no new attempts: its memory has damaged "
             << worker->wrong_outputs << " outputs. Test its memory; `mrctl worker undrain " << Name(id)
             << "` lets it work again";
  if (worker->alive && !worker->away) Feed(sched::WorkerDraining{id, worker->info.incarnation, true});
}

}  // namespace mr::master
