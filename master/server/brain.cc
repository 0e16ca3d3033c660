#include "master/server/brain.h"

#include <glog/logging.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "common/base/text.h"
#include "common/io/clock.h"
#include "common/rpc/control_wire.h"

namespace mr::master {
namespace {

// How long the record of a committed task may wait for those of others (measured: 10,000 empty
// tasks cost the master a tenth less CPU than with 1 ms; what may be lost is run again, and a job's end
// does not wait).
constexpr Duration kCommitDelay = Millis(4);

// Tick reads the clock each kTick: a gap of more than kStall means that this thread did not run (SIGSTOP, a suspended
// machine, a closure that took as long). kHear: what waits in the sockets then is heard (a guess; half a lease is far).
constexpr Duration kStall = Seconds(1);
constexpr Duration kHear = Millis(500);

bool ReplicaLess(const Replica& a, const Replica& b) {
  return std::tie(a.output, a.attempt, a.worker, a.incarnation) <
         std::tie(b.output, b.attempt, b.worker, b.incarnation);
}

// Returns kHard for events that a restart must know again, and kSoft for those that only shorten its work. A prediction
// is soft, since it is made again (ForetellRunning): later releases need not read its table.
journal::RecordClass ClassOf(const sched::Event& event) {
  const bool soft =
      std::holds_alternative<sched::AttemptStarted>(event) || std::holds_alternative<sched::AttemptProgress>(event) ||
      std::holds_alternative<sched::FetchDone>(event) || std::holds_alternative<sched::FetchFailed>(event) ||
      std::holds_alternative<sched::TimerDue>(event) || std::holds_alternative<sched::ProfileLoaded>(event) ||
      std::holds_alternative<sched::AttemptKilled>(event) || std::holds_alternative<sched::AttemptRefused>(event) ||
      std::holds_alternative<sched::WorkerAway>(event);
  return soft ? journal::RecordClass::kSoft : journal::RecordClass::kHard;
}

std::vector<sched::Decision> Promises(const std::vector<sched::Decision>& decisions) {
  std::vector<sched::Decision> out;
  for (const sched::Decision& d : decisions) {
    if (IsPromise(d)) out.push_back(d);
  }
  return out;
}

}  // namespace

Brain::Brain(Options options, Loop& loop, Outlets& outlets)
    : options_(std::move(options)),
      loop_(loop),
      outlets_(outlets),
      scheduler_(std::make_unique<sched::Scheduler>()),
      jobs_(options_.ended_jobs),
      namespace_({.replication = options_.replication, .block_bytes = options_.block_bytes}),
      lived_(options_.clock(), kTick, kStall),
      stamp_start_(Lived()),
      probing_(&ReplicaLess) {}

Brain::~Brain() = default;

Instant Brain::Lived() {
  const Instant lived = lived_.Read(options_.clock());
  if (const Duration gap = lived_.last_gap(); gap.ns > 0) {
    judge_from_ = lived + kHear;
    LOG_IF(WARNING, !replaying_) << "this master stood still for " << HumanDuration(gap)
                                 << ": leases of workers and files are longer by that";
  }
  return lived;
}

void Brain::AtLived(Instant at, std::function<void()> fn) {
  loop_.At(at + lived_.stood_still(), [this, at, fn = std::move(fn)]() mutable {
    if (Lived() < at) return AtLived(at, std::move(fn));  // it stood still meanwhile
    fn();
  });
}

Instant Brain::Stamp() {
  const Instant now = stamp_base_ + (Lived() - stamp_start_);
  if (now > last_stamp_) last_stamp_ = now;
  return last_stamp_;
}

uint64_t Brain::Append(journal::RecordClass record_class, RecordKind kind, std::string payload) {
  return journal_->Append(record_class, static_cast<uint8_t>(kind), std::move(payload));
}

uint64_t Brain::AppendEvent(const EventRecord& record, const std::vector<sched::Decision>& decisions) {
  const bool effects = std::any_of(decisions.begin(), decisions.end(), [this](const sched::Decision& d) {
    const auto* launch = std::get_if<sched::Launch>(&d);
    return launch != nullptr && HasEffects(*launch);
  });
  const journal::RecordClass record_class =
      record.outcome->empty() && !effects ? ClassOf(record.stamped.event) : journal::RecordClass::kHard;
  // Nobody waits to hear that one of many tasks is committed; that the job is, somebody may.
  const bool ends_job = std::any_of(decisions.begin(), decisions.end(), [](const sched::Decision& d) {
    return std::holds_alternative<sched::CommitJob>(d) || std::holds_alternative<sched::FailJob>(d);
  });
  std::string payload = Encode(record);
  if (ends_job || !std::holds_alternative<sched::AttemptFinished>(record.stamped.event)) {
    return Append(record_class, RecordKind::kEvent, std::move(payload));
  }
  return journal_->Append(record_class, static_cast<uint8_t>(RecordKind::kEvent), std::move(payload), kCommitDelay);
}

Brain::Fed Brain::Feed(sched::Event event, std::string extra) {
  const auto* submitted = std::get_if<sched::JobSubmitted>(&event);
  const JobId job = submitted != nullptr ? submitted->job : JobId{};
  Fed fed = FeedOne(std::move(event), std::move(extra));
  // Before its stages are planned: the first of their tasks is cloned, or not, at once.
  if (job.valid()) TellOfOperators(job);
  // Most answers to PlanStage are at hand: the plan was made when the job was submitted.
  std::vector<sched::PlanStage> plans;
  const auto gather = [&plans](const std::vector<sched::Decision>& decisions) {
    for (const auto& d : decisions) {
      if (const auto* plan = std::get_if<sched::PlanStage>(&d)) plans.push_back(*plan);
    }
  };
  gather(fed.decisions);
  for (size_t i = 0; i < plans.size(); ++i) {
    const sched::PlanStage plan = plans[i];
    if (const JobView* asking = jobs_.Find(plan.job); asking != nullptr && WaitsForSizes(*asking, plan.stage)) {
      late_plans_.insert({plan.job, plan.stage});
      continue;
    }
    gather(FeedOne(PlannedStage(plan), {}).decisions);
  }
  return fed;
}

Brain::Fed Brain::FeedOne(sched::Event event, std::string extra) {
  const std::string left_out = FitRecord(&event, options_.record_bytes);
  LOG_IF(WARNING, !left_out.empty()) << "a job's record is too long: " << left_out;
  EventRecord record{{Stamp(), std::move(event)}, std::move(extra)};
  NoteQueue(record.stamped.event);
  Fed fed;
  fed.decisions = scheduler_->Step(record.stamped);
  record.outcome = Promises(fed.decisions);
  record.digest = scheduler_->Digest();
  for (const auto& decision : fed.decisions) {
    if (const auto* commit = std::get_if<sched::CommitJob>(&decision)) CommitToDfs(commit->job, &record);
  }
  fed.sequence = AppendEvent(record, fed.decisions);
  ++events_;
  AfterFold(jobs_.Fold(record.stamped, record.extra, fed.decisions, fed.sequence));
  NoteRandomOperators(fed.decisions);
  for (const auto& decision : fed.decisions) {
    if (const auto* commit = std::get_if<sched::CommitJob>(&decision)) {
      MR_CHECK(ApplyCommit(commit->job, record.extra, fed.sequence).ok());
    }
    if (holds_effects_)
      held_effects_.emplace_back(decision, fed.sequence);
    else
      CarryOut(decision, fed.sequence);
  }
  return fed;
}

void Brain::AfterFold(const JobTable::Change& change) {
  if (!change.added.empty() || !change.removed.empty()) SendDelta(change.added, change.removed);
}

bool Brain::HasEffects(const sched::Launch& launch) const {
  return scheduler_->state().Spec(launch.attempt.task.stage_id()).side_effects;
}

void Brain::CarryOut(const sched::Decision& decision, uint64_t sequence) {
  struct Visitor {
    Brain& brain;
    uint64_t sequence;
    void Command(WorkerId id, Incarnation incarnation, const AttemptId& attempt, bool take_back) {
      WorkerView* worker = brain.workers_.FindAlive(id, incarnation);
      brain.Send(worker, 64, [attempt, take_back](rpc::Command::Builder out) {
        rpc::ToWire(attempt, take_back ? out.initTakeBack() : out.initKill());
      });
      brain.MarkChanged(attempt.task.job);
    }
    void operator()(const sched::Launch& d) {
      if (brain.HasEffects(d)) {
        // A master that restarts must know it, or it launches another one beside it. One that was ended meanwhile has
        // been answered by its worker, which never had it.
        brain.outbox_.Hold(sequence, [b = &brain, d] {
          const sched::Attempt* a = b->scheduler_->state().FindAttempt(d.attempt);
          if (a != nullptr && a->live()) b->SendLaunch(d);
        });
      } else {
        brain.SendLaunch(d);
      }
      brain.MarkChanged(d.attempt.task.job);
    }
    void operator()(const sched::Bind& d) {
      const AttemptView* reader = brain.jobs_.Find(d.reader);
      const ReplicaView* replica = brain.jobs_.FindReplica(d.replica);
      if (reader == nullptr || replica == nullptr) return;
      WorkerView* worker = brain.workers_.FindAlive(reader->worker, reader->incarnation);
      brain.Send(worker, 4096, [this_brain = &brain, d, view = *replica](rpc::Command::Builder out) {
        auto bind = out.initBind();
        rpc::ToWire(d.reader, bind.initReader());
        bind.setStage(d.replica.output.task.stage);
        rpc::ToWire(this_brain->LocationOf(view), bind.initEntry());
      });
    }
    void operator()(const sched::Kill& d) { Command(d.worker, d.incarnation, d.attempt, false); }
    void operator()(const sched::TakeBack& d) { Command(d.worker, d.incarnation, d.attempt, true); }
    void operator()(const sched::Accept& d) { brain.MarkChanged(d.attempt.task.job); }
    void operator()(const sched::Refuse& d) { brain.MarkChanged(d.attempt.task.job); }
    void operator()(const sched::DropReplica& d) {
      WorkerView* worker = brain.workers_.FindAlive(d.replica.worker, d.replica.incarnation);
      brain.Send(worker, 96, [replica = d.replica](rpc::Command::Builder out) {
        auto drop = out.initDrop();
        rpc::ToWire(replica.output.task, drop.initTask());
        drop.setGeneration(replica.output.generation);
        drop.setAttempt(replica.attempt);
        drop.initWorker().setId(replica.worker.value);
        drop.getWorker().setIncarnation(replica.incarnation);
      });
    }
    void operator()(const sched::PlanStage&) {}  // answered by Feed
    void operator()(const sched::CommitJob& d) {
      if (!brain.jobs_.Find(d.job)->in_dfs()) brain.unpublished_.insert(d.job);
      brain.MarkChanged(d.job);
      brain.outbox_.Hold(sequence, [b = &brain, job = d.job] { b->Publish(job, 1); });
    }
    void operator()(const sched::FailJob& d) {
      brain.uncleaned_.insert(d.job);
      brain.outbox_.Hold(sequence, [b = &brain, job = d.job] {
        b->JobDone(job);
        b->CleanUp(job);
      });
    }
    void operator()(const sched::WakeAt& d) { brain.SetTimer(d); }
    void operator()(const sched::ReplicateOutput& d) { brain.SendReplicate(d.from, d.to); }
    // Shares, facts and marks are the core's own.
    void operator()(const sched::SetShare&) {}
    void operator()(const sched::MarkIndeterminate&) {}
    void operator()(const sched::Remember&) {}
    void operator()(const sched::Spare&) {}
  };
  std::visit(Visitor{*this, sequence}, decision);
}

void Brain::CarryOutHeld() {
  holds_effects_ = false;
  const auto held = std::exchange(held_effects_, {});
  for (const auto& [decision, sequence] : held) CarryOut(decision, sequence);
}

void Brain::SetTimer(const sched::WakeAt& wake) {
  const auto key = std::make_pair(wake.policy, wake.id);
  timers_.insert(key);
  // From the stamps' axis to the lived one.
  const Instant due = stamp_start_ + (wake.at - stamp_base_);
  AtLived(due, [this, key] {
    timers_.erase(timers_.find(key));
    Feed(sched::TimerDue{key.first, key.second});
  });
}

}  // namespace mr::master
