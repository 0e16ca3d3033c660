// Workers: registration, leases, reports.
#include <glog/logging.h>

#include <algorithm>

#include "common/base/text.h"
#include "common/io/clock.h"
#include "common/rpc/connection.h"
#include "common/rpc/wire.h"
#include "master/host/brain.h"

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
  safe_mode_.NoteSeen(in.extra.name, in.seen);
  const auto inventory = in.info.inventory;
  const auto running = in.info.running;
  const bool leaving = in.leaving;
  const uint32_t given_up = in.reports_given_up;
  const WorkerExtra extra = in.extra;
  auto records = core_.PrepareRegister({std::move(in.info), std::move(in.extra), std::move(in.blocks), leaving},
                                       clock_.Stamp(), clock_.Lived());
  if (!records.ok()) return reply({records.status(), {}, {}});
  if (records->named) driver_.Feed(Record(*std::move(records->named)));
  const auto& info = std::get<sched::WorkerRegistered>(records->event.stamped.event);
  const WorkerId id = info.worker;
  WorkerView& worker = *core_.workers().Find(id);
  if (worker.session != 0 && worker.session != session) outlets_.CloseSession(worker.session);
  if (worker.info.incarnation != info.incarnation) worker.heartbeat_connections = 0;
  RegisterOut out{
      Status::Ok(),           id, {}, !worker.alive && worker.info.incarnation == info.incarnation, driver_.epoch(),
      safe_mode_.DurableNow()};
  worker.BeginSession(session, driver_.epoch(), clock_.Lived());
  worker.http_port = extra.http_port;
  worker.capacity_bytes = extra.capacity_bytes;
  worker.used_bytes = extra.used_bytes;
  worker.pid = extra.pid;
  worker.reports_given_up = given_up;
  worker.leaving = leaving;
  dispatcher_.Forget(id);

  const Driver::Fed fed = driver_.Feed(std::move(records->event));
  for (const auto& decision : fed.decisions) {
    const auto* drop = std::get_if<sched::DropReplica>(&decision);
    if (drop != nullptr && drop->replica.worker == id) out.drop.push_back(drop->replica);
  }
  driver_.Feed(Record(std::move(records->joined)));
  if (!leaving) {
    // Always: it may have missed the last change.
    dispatcher_.Send(&worker, 16, [on = worker.drained_by_user] { return command::Drain{on}; });
  }
  LOG(INFO) << Name(id) << " registered from " << worker.info.address << " with " << worker.info.slots.total
            << " slots, " << inventory.size() << " outputs, " << running.size() << " running"
            << (leaving                  ? ", leaving"
                : worker.drained_by_user ? ", drained by an operator"
                                         : "")
            << (out.start_over ? "; it was given up, and none of these count" : "");
  Greet(&worker, core_.GreetingOf(id, inventory, running));
  driver_.Hold(fed.sequence, [reply = std::move(reply), out = std::move(out)] { reply(out); });
  Settle();
}

void Brain::Greet(WorkerView* worker, const Greeting& greeting) {
  worker->holds.insert(greeting.holds.begin(), greeting.holds.end());
  for (const Replica& from : greeting.replicate) dispatcher_.SendReplicate(from, worker->id);
  // An attempt that goes on must know again where its inputs are.
  for (const AttemptId& attempt : greeting.go_on) {
    dispatcher_.SendStage(worker, *core_.jobs().Find(attempt.task.job), attempt.task.stage);
  }
  for (const AttemptId& attempt : greeting.kill) {
    dispatcher_.Send(worker, 64, [attempt] { return command::Kill{attempt}; });
  }
  for (const JobId job : greeting.forgotten) {
    dispatcher_.Send(worker, 32, [job] { return command::EndJob{job}; });
  }
}

void Brain::RegisterAnswered(uint64_t session) {
  if (WorkerView* worker = core_.workers().FindSession(session)) worker->answered = true;
}

void Brain::SessionEnded(uint64_t session) {
  WorkerView* worker = core_.workers().FindSession(session);
  if (worker == nullptr) return;
  worker->session = 0;
  worker->answered = false;
  worker->session_lost = clock_.Lived();
  dispatcher_.Forget(worker->id);
  CheckLeases();
}

void Brain::HeartbeatConnected(Incarnation incarnation, bool connected) {
  WorkerView* worker = core_.workers().FindIncarnation(incarnation);
  if (worker == nullptr) return;
  if (connected) {
    ++worker->heartbeat_connections;
  } else if (worker->heartbeat_connections > 0) {
    --worker->heartbeat_connections;
    CheckLeases();
  }
}

bool Brain::Beat(WorkerId id, Incarnation incarnation, Duration loop_silent, const DiskRoom& room) {
  WorkerView* worker = core_.workers().FindAlive(id, incarnation);
  if (worker == nullptr || worker->session == 0) return false;
  worker->last_beat = clock_.Lived();
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
    driver_.Feed(sched::WorkerAway{worker->id, incarnation});
    return;
  }
  LOG(INFO) << Name(worker->id) << " moves again";
  if (worker->TakesAttempts()) driver_.Feed(sched::WorkerDraining{worker->id, incarnation, false});
}

void Brain::Lose(WorkerId id, const std::string& why) {
  WorkerView* worker = core_.workers().Find(id);
  if (worker == nullptr || !worker->alive) return;
  LOG(WARNING) << Name(id) << " (" << worker->info.address << ") is lost: " << why;
  std::vector<Record> records = core_.PrepareLost(id, why, clock_.Stamp());
  worker->alive = false;
  worker->away = false;
  worker->lost = clock_.Lived();
  if (worker->session != 0) outlets_.CloseSession(worker->session);
  worker->session = 0;
  worker->heartbeat_connections = 0;
  dispatcher_.Forget(id);
  driver_.FeedAll(std::move(records));
  for (const JobId job : std::set<JobId>(core_.open().uncleaned)) CleanUp(job);
  for (auto& [job_id, job] : core_.jobs().jobs()) {
    if (!Ended(job.state)) watchers_.MarkChanged(job_id);
  }
  Settle();
}

void Brain::CheckLeases() {
  const Instant now = clock_.Lived();
  if (clock_.CatchesUp(now)) return;  // the next tick
  for (const auto& [id, why] : core_.workers().Expired(now)) Lose(id, why);
  if (shorter_wait_ && now >= shorter_wait_->first) {
    driver_.Feed(sched::LeaseSet{shorter_wait_->second});
    shorter_wait_.reset();
  }
}

void Brain::Tick() {
  CheckLeases();
  FailWithoutRoom();
  FeedHeldReports();
  driver_.FollowUpOn(core_.Unanswered());
  loop_.At(Now() + kTick, [this] { Tick(); });
}

void Brain::Drain(WorkerId id, bool on, std::function<void(Status)> reply) {
  auto records = core_.PrepareDrain(id, on, clock_.Stamp());
  if (!records.ok()) return reply(records.status());
  LOG(INFO) << Name(id) << (on ? " is drained" : " is wanted again") << ": an operator asked for it";
  const uint64_t sequence = driver_.FeedAll(*std::move(records));
  WorkerView* worker = core_.workers().Find(id);
  if (worker->alive && !worker->leaving) {
    dispatcher_.Send(worker, 16, [on] { return command::Drain{on}; });
  }
  driver_.Hold(sequence, [reply = std::move(reply)] { reply(Status::Ok()); });
}

void Brain::Exclude(WorkerId id, bool on, std::function<void(Status)> reply) {
  auto records = core_.PrepareExclude(id, on, clock_.Stamp());
  if (!records.ok()) return reply(records.status());
  LOG(INFO) << Name(id) << (on ? " is excluded" : " may register again") << ": an operator asked for it";
  const uint64_t sequence = driver_.FeedAll(*std::move(records));
  if (on) Lose(id, "an operator excluded it");
  driver_.Hold(sequence, [reply = std::move(reply)] { reply(Status::Ok()); });
}

void Brain::Leaving(WorkerId id, Incarnation incarnation) {
  WorkerView* worker = core_.workers().FindAlive(id, incarnation);
  if (worker == nullptr || worker->leaving) return;
  worker->leaving = true;
  LOG(INFO) << Name(id) << " leaves: nothing new goes there";
  driver_.Feed(sched::WorkerDraining{id, incarnation, true});
}

void Brain::Progress(sched::AttemptProgress progress) {
  WorkerView* worker = core_.workers().FindAlive(progress.worker, progress.incarnation);
  if (worker == nullptr) return;
  if (driver_.journal_full()) return;  // the reserve is for what must be kept
  for (const auto& report : progress.reports) watchers_.MarkChanged(report.attempt.task.job);
  driver_.Feed(std::move(progress));
}

void Brain::Report(uint64_t session, WorkerId id, Incarnation incarnation, std::vector<NumberedReport> reports,
                   std::function<void(ReportOut)> reply) {
  WorkerView* worker = core_.workers().Find(id);
  ReportOut out{std::vector<Verdict>(reports.size(), Verdict::kStale), nullptr};
  for (size_t i = 0; worker != nullptr && i < reports.size(); ++i) {
    if (HoldForReplicas(id, incarnation, reports[i])) {
      out.verdicts[i] = Verdict::kLater;
      continue;
    }
    Verdict verdict = Verdict::kNoted;
    const uint64_t hold = FeedReport(id, incarnation, std::move(reports[i].report), &verdict);
    const bool now = hold <= driver_.durable();
    out.verdicts[i] = now ? verdict : Verdict::kLater;
    if (now) continue;
    driver_.Hold(hold, [this, id, incarnation, number = reports[i].number, verdict] {
      dispatcher_.GiveVerdict(id, incarnation, number, verdict);
    });
  }
  dispatcher_.AnswerReports(session, id, std::move(out), std::move(reply));
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
    brain.driver_.Feed(sched::AttemptStarted{from.attempt, from.worker, from.incarnation});
    return 0;
  }
  uint64_t operator()(report::Finished finished);
  uint64_t operator()(report::Failed failed) {
    LOG(INFO) << "attempt failed: " << brain.core_.jobs().NameOf(from.attempt) << " on " << Name(from.worker) << ": "
              << failed.message;
    const FailedExtra extra{std::move(failed.record), std::move(failed.stderr_tail)};
    brain.driver_.Feed(
        sched::AttemptFailed{from.attempt, from.worker, from.incarnation, failed.kind, std::move(failed.message)},
        EncodeFields(extra));
    return Ended();
  }
  uint64_t operator()(report::Refused refused) {
    brain.driver_.Feed(sched::AttemptRefused{from.attempt, from.worker, from.incarnation, std::move(refused.why)});
    return Ended();
  }
  uint64_t operator()(report::Killed) {
    brain.driver_.Feed(sched::AttemptKilled{from.attempt, from.worker, from.incarnation});
    return Ended();
  }
  uint64_t operator()(report::FetchDone done) {
    brain.driver_.Feed(sched::FetchDone{from.attempt, done.replica, done.bytes, done.took, done.readers});
    return 0;
  }
  uint64_t operator()(report::FetchFailed failed) {
    brain.driver_.Feed(sched::FetchFailed{from.attempt, failed.replica, std::move(failed.why)});
    brain.Suspect(failed.replica, !failed.unreachable);
    return 0;
  }
  // Whole and checked, as its worker says. A repeat gets the same answer: the step is the same again.
  uint64_t operator()(report::ReplicaMade made) {
    made.replica.worker = from.worker;
    made.replica.incarnation = from.incarnation;
    const Driver::Fed fed = brain.driver_.Feed(sched::ReplicaMade{made.replica});
    *verdict = brain.core_.jobs().FindReplica(made.replica) != nullptr ? Verdict::kReplicaKept : Verdict::kStale;
    return fed.sequence;
  }
  uint64_t operator()(const report::ReplicaNotMade& failed) {
    // Not for a repeat of the report: it would count as another try.
    if (brain.core_.jobs().Replicating(from.worker, failed.from.output)) {
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
  watchers_.MarkChanged(report.attempt.task.job);
  return std::visit(ReportFeeder{*this, {report.attempt, id, incarnation}, verdict}, std::move(report.what));
}

uint64_t Brain::ReportFeeder::operator()(report::Finished finished) {
  auto answer = brain.core_.PrepareFinished(from, std::move(finished), brain.clock_.Stamp());
  *verdict = answer.verdict;
  if (!answer.record) return answer.sequence;
  const AttemptId& attempt = from.attempt;
  if (!answer.excess.empty()) {
    LOG(INFO) << Name(attempt.task.job) << " fails: " << answer.excess;
    brain.driver_.Feed(*std::move(answer.record));
    return Ended();
  }
  for (const std::string& uri : answer.record->beside.grown) {
    LOG(WARNING) << Name(attempt.task.job) << ": input " << uri << " grew while the job ran";
  }
  const Driver::Fed fed = brain.driver_.Feed(*std::move(answer.record));
  *verdict = VerdictOf(attempt, fed.decisions);
  Ended();
  return fed.sequence;
}

void Brain::ReplicaNotMade(const Replica& from, WorkerId to, const std::string& why) {
  LOG(INFO) << "no replica of the output of " << core_.jobs().NameOf({from.output.task, from.attempt})
            << " was made on " << Name(to) << ": " << why;
  driver_.Feed(sched::ReplicaNotMade{from, to, why});
}

// A reader's word alone condemns nothing: the replica's worker looks itself, at its bytes where these are in doubt.
void Brain::Suspect(const Replica& replica, bool verify) {
  const ReplicaView* view = core_.jobs().FindReplica(replica);
  if (view == nullptr || probing_.contains(replica)) return;
  const WorkerView* worker = core_.workers().FindAlive(replica.worker, replica.incarnation);
  if (worker == nullptr) {
    driver_.Feed(sched::ReplicaLost{replica, "its worker is gone"});
    return;
  }
  // Its own fate is decided first. Readers that still want it complain again.
  if (worker->away || worker->session == 0 || StandsStill(*worker)) return;
  probing_.insert(replica);
  const uint32_t partitions = view->extra == nullptr ? 0 : view->extra->partitions;
  outlets_.Probe({worker->info.address, replica, verify && view->extra != nullptr, view->manifest.content, partitions},
                 [this, replica](const Looked& looked) {
                   probing_.erase(replica);
                   if (core_.jobs().FindReplica(replica) != nullptr) LookedAt(replica, looked);
                 });
}

bool Brain::StandsStill(const WorkerView& worker) {
  const Instant now = clock_.Lived();
  return clock_.CatchesUp(now) || worker.loop_stalled || now - worker.loop_moved >= kLoopPause;
}

void Brain::LookedAt(const Replica& replica, const Looked& looked) {
  const std::string name =
      "the output of " + core_.jobs().NameOf({replica.output.task, replica.attempt}) + " on " + Name(replica.worker);
  switch (looked.at) {
    case Looked::At::kWhole:
      LOG(INFO) << name << " is whole: a reader's complaint about it came from the network or from its own worker";
      return;
    case Looked::At::kUnknown: return;
    case Looked::At::kUnreachable:
      // Its data server is on the loop that stands still; a master that stood still itself may have its answer unread.
      if (const WorkerView* worker = core_.workers().FindAlive(replica.worker, replica.incarnation);
          worker != nullptr && StandsStill(*worker)) {
        LOG(INFO) << name << " stays, though its worker did not answer: it or this master stands still";
        return;
      }
      driver_.Feed(sched::ReplicaLost{replica, "its worker cannot be reached: " + looked.why});
      return;
    case Looked::At::kGone: driver_.Feed(sched::ReplicaLost{replica, "its worker does not have it any more"}); return;
    case Looked::At::kDamaged:
      LOG(WARNING) << name << " is damaged: " << looked.why;
      driver_.Feed(sched::ReplicaLost{replica, "damaged on its worker's disk: " + looked.why});
      return;
    case Looked::At::kOtherContent:
      LOG(WARNING) << name << " was damaged in memory: " << looked.why;
      driver_.Feed(sched::ReplicaLost{replica, "damaged in its worker's memory before it was stored: " + looked.why});
      NoteWrongOutput(replica.worker);
      return;
  }
}

void Brain::NoteWrongOutput(WorkerId id) {
  WorkerView* worker = core_.workers().Find(id);
  if (worker == nullptr) return;
  driver_.FeedAll(core_.PrepareWrongOutput(id, clock_.Stamp()));
  if (worker->wrong_outputs != kDistrustedFrom) return;
  LOG(ERROR) << Name(id) << " at " << worker->info.address << " gets no new attempts: its memory has damaged "
             << worker->wrong_outputs << " outputs. Test its memory; `mrctl worker undrain " << Name(id)
             << "` lets it work again";
}

}  // namespace mr::master
