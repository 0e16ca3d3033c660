#include "master/host/brain.h"

#include <glog/logging.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "common/base/text.h"
#include "common/io/clock.h"
#include "common/rpc/control_wire.h"
#include "master/host/read_journal.h"
#include "master/sched/state/state.h"

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

MasterCore::Config CoreConfig(const Brain::Options& o) {
  return {.directory = o.directory,
          .policies = o.policies,
          .scheduler_version = o.scheduler_version,
          .block_bytes = o.block_bytes,
          .replication = o.replication,
          .ended_jobs = o.ended_jobs,
          .fat_partition_bytes = o.fat_partition_bytes,
          .record_bytes = o.record_bytes};
}

}  // namespace

Brain::Brain(Options options, Loop& loop, Outlets& outlets)
    : options_(std::move(options)),
      loop_(loop),
      outlets_(outlets),
      core_(CoreConfig(options_), SpecOf),
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

uint64_t Brain::Append(const Record& record, const std::vector<sched::Decision>& decisions) {
  const auto kind = static_cast<uint8_t>(KindOf(record));
  std::string payload = EncodeRecord(record);
  const auto* event = std::get_if<EventRecord>(&record);
  if (event == nullptr) return journal_->Append(journal::RecordClass::kHard, kind, std::move(payload));
  const bool effects = std::any_of(decisions.begin(), decisions.end(), [this](const sched::Decision& d) {
    const auto* launch = std::get_if<sched::Launch>(&d);
    return launch != nullptr && HasEffects(*launch);
  });
  const journal::RecordClass record_class =
      event->outcome->empty() && !effects ? ClassOf(event->stamped.event) : journal::RecordClass::kHard;
  // Nobody waits to hear that one of many tasks is committed; that the job is, somebody may.
  const bool ends_job = std::any_of(decisions.begin(), decisions.end(), [](const sched::Decision& d) {
    return std::holds_alternative<sched::CommitJob>(d) || std::holds_alternative<sched::FailJob>(d);
  });
  if (ends_job || !std::holds_alternative<sched::AttemptFinished>(event->stamped.event)) {
    return journal_->Append(record_class, kind, std::move(payload));
  }
  return journal_->Append(record_class, kind, std::move(payload), kCommitDelay);
}

Brain::Fed Brain::Feed(sched::Event event, std::string extra) {
  return Feed(EventRecord{{Stamp(), std::move(event)}, std::move(extra)});
}

Brain::Fed Brain::Feed(Record record) {
  std::vector<FollowUp> follow_ups;
  Fed fed = FeedOne(std::move(record), &follow_ups);
  FollowUpOn(std::move(follow_ups));
  return fed;
}

uint64_t Brain::FeedAll(std::vector<Record> records) {
  uint64_t last = 0;
  for (Record& record : records) {
    const auto* change = std::get_if<dfs::Record>(&record);
    const bool kept = change == nullptr || dfs::IsHard(*change);
    const uint64_t sequence = Feed(std::move(record)).sequence;
    if (kept) last = sequence;
  }
  return last;
}

// Most requests are answered at once: a job's plan was made when it was submitted.
void Brain::FollowUpOn(std::vector<FollowUp> follow_ups) {
  for (size_t i = 0; i < follow_ups.size(); ++i) {
    auto event = core_.Prepare(FollowUp(follow_ups[i]));
    if (!event) continue;
    if (const auto* known = std::get_if<sched::OperatorsKnown>(&*event)) {
      LOG(INFO) << Name(known->job) << ": tasks of " << known->indeterminate.size()
                << " stages are not cloned, since their operators gave other content for equal input in earlier jobs";
    }
    (void)FeedOne(EventRecord{{Stamp(), *std::move(event)}, {}}, &follow_ups);
  }
}

Brain::Fed Brain::FeedOne(Record record, std::vector<FollowUp>* follow_ups) {
  const auto* change = std::get_if<dfs::Record>(&record);
  const bool kept = change == nullptr || dfs::IsHard(*change);
  Fed fed{kept ? journal_->Reserve() : dfs_sequence_, {}};
  Applied applied = core_.Apply(&record, {fed.sequence, WallClockMs()});
  if (kept) MR_CHECK(Append(record, applied.decisions) == fed.sequence, "another thread appends to the journal");
  if (change != nullptr) dfs_sequence_ = fed.sequence;
  loss_open_ = core_.loss().open();
  follow_ups->insert(follow_ups->end(), applied.follow_ups.begin(), applied.follow_ups.end());
  if (!applied.replicas.added.empty() || !applied.replicas.removed.empty()) {
    SendDelta(applied.replicas.added, applied.replicas.removed);
  }
  for (const auto& decision : applied.decisions) {
    // Its output became visible by this record.
    if (std::holds_alternative<sched::CommitJob>(decision)) dfs_sequence_ = fed.sequence;
  }
  Dispatch(std::move(applied.blocks), fed.sequence);
  for (const auto& decision : applied.decisions) {
    if (holds_effects_)
      held_effects_.emplace_back(decision, fed.sequence);
    else
      CarryOut(decision, fed.sequence);
  }
  if (!holds_effects_) ArmTimer();
  fed.decisions = std::move(applied.decisions);
  return fed;
}

void Brain::Release(uint64_t sequence) {
  for (const JobId job : core_.NoteDurable(sequence)) JobDone(job);
  outbox_.Release(sequence);
}

bool Brain::HasEffects(const sched::Launch& launch) const {
  return core_.scheduler().state().Spec(launch.attempt.task.stage_id()).side_effects;
}

void Brain::CarryOut(const sched::Decision& decision, uint64_t sequence) {
  struct Visitor {
    Brain& brain;
    uint64_t sequence;
    void Command(WorkerId id, Incarnation incarnation, const AttemptId& attempt, bool take_back) {
      WorkerView* worker = brain.core_.workers().FindAlive(id, incarnation);
      brain.Send(worker, 64, [attempt, take_back]() -> mr::Command {
        if (take_back) return command::TakeBack{attempt};
        return command::Kill{attempt};
      });
      brain.MarkChanged(attempt.task.job);
    }
    void operator()(const sched::Launch& d) {
      if (brain.HasEffects(d)) {
        // A master that restarts must know it, or it launches another one beside it. One that was ended meanwhile has
        // been answered by its worker, which never had it.
        brain.outbox_.Hold(sequence, [b = &brain, d] {
          const sched::Attempt* a = b->core_.scheduler().state().FindAttempt(d.attempt);
          if (a != nullptr && a->live()) b->SendLaunch(d);
        });
      } else {
        brain.SendLaunch(d);
      }
      brain.MarkChanged(d.attempt.task.job);
    }
    void operator()(const sched::Bind& d) {
      const AttemptView* reader = brain.core_.jobs().Find(d.reader);
      const ReplicaView* replica = brain.core_.jobs().FindReplica(d.replica);
      if (reader == nullptr || replica == nullptr) return;
      WorkerView* worker = brain.core_.workers().FindAlive(reader->worker, reader->incarnation);
      brain.Send(worker, 4096, [this_brain = &brain, d, view = *replica] {
        return command::Bind{d.reader, d.replica.output.task.stage, this_brain->LocationOf(view)};
      });
    }
    void operator()(const sched::Kill& d) { Command(d.worker, d.incarnation, d.attempt, false); }
    void operator()(const sched::TakeBack& d) { Command(d.worker, d.incarnation, d.attempt, true); }
    void operator()(const sched::Accept& d) { brain.MarkChanged(d.attempt.task.job); }
    void operator()(const sched::Refuse& d) { brain.MarkChanged(d.attempt.task.job); }
    void operator()(const sched::DropReplica& d) {
      WorkerView* worker = brain.core_.workers().FindAlive(d.replica.worker, d.replica.incarnation);
      brain.Send(worker, 96, [replica = d.replica] { return command::DropReplica{replica}; });
    }
    void operator()(const sched::PlanStage&) {}  // answered by a follow-up
    void operator()(const sched::CommitJob& d) {
      brain.MarkChanged(d.job);
      // One in the block store is there already; Release reports its end.
      if (brain.core_.jobs().Find(d.job)->in_dfs()) return;
      brain.outbox_.Hold(sequence, [b = &brain, job = d.job] { b->Publish(job, 1); });
    }
    void operator()(const sched::FailJob& d) { brain.MarkChanged(d.job); }  // reported by Release
    void operator()(const sched::WakeAt&) {}                                // ArmTimer
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

void Brain::ArmTimer() {
  const auto next = core_.NextTimer();
  if (!next || (!armed_.empty() && *armed_.begin() <= *next)) return;
  armed_.insert(*next);
  // From the stamps' axis to the lived one.
  AtLived(stamp_start_ + (*next - stamp_base_), [this, at = *next] {
    armed_.erase(at);
    FireTimers();
  });
}

void Brain::FireTimers() {
  // Timers that these set fire in the next turn.
  const Instant now = Stamp();
  for (size_t left = core_.open().timers.size(); left > 0; --left) {
    auto due = core_.DueTimer(now);
    if (!due) break;
    Feed(*std::move(due));
  }
  ArmTimer();
}

}  // namespace mr::master
