#include "master/host/driver.h"

#include <glog/logging.h>

#include <algorithm>

#include "common/base/count.h"
#include "common/io/clock.h"
#include "master/host/read_journal.h"
#include "master/sched/state/state.h"

namespace mr::master {
namespace {

// How long the record of a committed task or of a copied block may wait to share a sync (measured: 10,000 empty tasks
// cost the master a tenth less CPU than with 1 ms). After a crash, tasks without a record run again and blocks without
// one are copied again. A job's end does not wait.
constexpr Duration kCommitDelay = Millis(4);

// Returns kHard for events that a restart must know again, and kSoft for those that only shorten its work. A prediction
// is soft, since a start makes it again (Forecasts::PredictRunning): later releases need not read its table.
journal::RecordClass ClassOf(const sched::Event& event) {
  const bool soft =
      std::holds_alternative<sched::AttemptStarted>(event) || std::holds_alternative<sched::AttemptProgress>(event) ||
      std::holds_alternative<sched::FetchDone>(event) || std::holds_alternative<sched::FetchFailed>(event) ||
      std::holds_alternative<sched::TimerDue>(event) || std::holds_alternative<sched::ProfileLoaded>(event) ||
      std::holds_alternative<sched::AttemptKilled>(event) || std::holds_alternative<sched::AttemptRefused>(event) ||
      std::holds_alternative<sched::WorkerAway>(event) || std::holds_alternative<sched::InputsMissing>(event) ||
      std::holds_alternative<sched::OutputsLeaving>(event);
  return soft ? journal::RecordClass::kSoft : journal::RecordClass::kHard;
}

MasterCore::Config CoreConfig(const HostOptions& o) {
  return {.directory = o.directory,
          .policies = o.policies,
          .scheduler_version = o.scheduler_version,
          .block_bytes = o.block_bytes,
          .replication = o.replication,
          .ended_jobs = o.ended_jobs,
          .fat_partition_bytes = o.fat_partition_bytes,
          .record_bytes = o.record_bytes,
          .owner = o.owner};
}

}  // namespace

bool HasSideEffects(const sched::State& state, const sched::Launch& launch) {
  return state.Spec(launch.attempt.task.stage_id()).side_effects;
}

Driver::Driver(const HostOptions& options, HostClock& clock, Loop& loop, Outlets& outlets, Effects& effects)
    : options_(options),
      clock_(clock),
      loop_(loop),
      effects_(effects),
      core_(CoreConfig(options), SpecOf),
      snapshots_(core_.config(), loop, outlets) {}

Driver::~Driver() = default;

Status Driver::Open() {
  auto opened = journal::Journal::Open(
      {.directory = options_.directory + "/journal",
       .cluster_id = options_.cluster_id,
       .preallocate_bytes = std::min<uint64_t>(4 << 20, options_.snapshot_bytes),
       .segment_bytes = options_.snapshot_bytes,
       .witness = options_.directory + "/journal_witness",
       .expected = options_.cluster_known,
       .accept_loss = options_.accept_loss},
      [this](const journal::Record& record, uint64_t offset) { return ApplyRead(&core_, record, offset); });
  if (!opened.ok()) return opened.status();
  journal_ = *std::move(opened);
  const journal::Recovery& recovery = journal_->recovery();
  for (const auto& warning : journal_->read().warnings) LOG(ERROR) << "journal: " << warning;
  LOG(INFO) << "journal: read up to record " << journal_->read().end.sequence << ": "
            << CountOf(journal_->read().records, "record")
            << (journal_->read().snapshot == 0 ? ""
                                               : " after the snapshot at " + std::to_string(journal_->read().snapshot));
  if (recovery.cut_bytes > 0) {
    LOG(WARNING) << "journal: cut off " << recovery.cut_bytes << " bytes of an interrupted write at offset "
                 << recovery.end.offset << " (" << CountOf(recovery.cut_records, "record that was", "records that were")
                 << " never acknowledged)";
  }
  if (const auto& loss = journal_->accepted_loss()) {
    LOG(ERROR) << "journal: the loss of records after " << loss->kept << ", up to " << loss->known
               << " at least, was accepted: " << loss->text;
  }
  outbox_.Release(recovery.end.sequence);
  loss_open_ = core_.loss().open();
  // The stamps of all records to come include it, so that a replay needs no clock.
  clock_.ResumeAfter(core_.last_stamp(), core_.TimeAway(options_.wall_clock()));
  return Status::Ok();
}

void Driver::BeginEpoch() {
  epoch_ = first_epoch_ = journal_->last_epoch() + 1;
  journal_->Start(
      epoch_, [this](uint64_t sequence) { loop_.Post([this, sequence] { Release(sequence); }); },
      [this](uint64_t sequence) { loop_.Post([this, sequence] { snapshots_.Closed(sequence); }); },
      [this](bool room) { loop_.Post([this, room] { NoteRoom(room); }); });
  // Nobody hears of this epoch before it is on disk: two masters would otherwise share it.
  journal_->WaitDurable(Feed(Record(EpochStarted{epoch_, options_.scheduler_version, WallClockMs()})).sequence);
}

void Driver::EndStart() {
  holds_effects_ = false;
  const auto held = std::exchange(held_effects_, {});
  for (const auto& [decision, sequence] : held) effects_.CarryOut(decision, sequence);
  ArmTimer();
}

void Driver::BeginSnapshots() {
  const journal::DirectoryRead& read = journal_->read();
  snapshots_.Begin(read.snapshot, read.closed_segments > 0 ? journal_->recovery().header.after : 0);
}

void Driver::NoteRoom(bool room) {
  journal_full_ = !room;
  if (room) {
    LOG(INFO) << "journal: there is room again";
    snapshots_.Make();
  } else {
    LOG(ERROR) << "journal: " << CheckRoom().message();
  }
}

Status Driver::CheckRoom() const {
  if (!journal_full_) return Status::Ok();
  return Rejected("the master takes nothing new: its journal in " + options_.directory +
                  "/journal cannot grow (the "
                  "disk is full, or the master has no file descriptors left). What runs goes on, and files can be read "
                  "and removed. Make room there; the master goes on by itself");
}

void Driver::RaiseEpoch(uint32_t epoch) {
  journal_->RaiseEpoch(epoch);
  epoch_ = epoch;
}

uint64_t Driver::Append(const Record& record, const std::vector<sched::Decision>& decisions) {
  const auto kind = static_cast<uint8_t>(KindOf(record));
  std::string payload = EncodeRecord(record);
  const auto* event = std::get_if<EventRecord>(&record);
  if (event == nullptr) {
    // Nobody waits for the note of a copied block, and a repair gives many of them.
    const auto* change = std::get_if<dfs::Record>(&record);
    const bool placed = change != nullptr && std::holds_alternative<dfs::ReplicasPlaced>(*change);
    return journal_->Append(journal::RecordClass::kHard, kind, std::move(payload), placed ? kCommitDelay : Duration{});
  }
  const bool effects = std::any_of(decisions.begin(), decisions.end(), [this](const sched::Decision& d) {
    const auto* launch = std::get_if<sched::Launch>(&d);
    return launch != nullptr && HasSideEffects(core_.scheduler().state(), *launch);
  });
  const journal::RecordClass record_class =
      event->outcome->empty() && !effects ? ClassOf(event->stamped.event) : journal::RecordClass::kHard;
  // A client may wait for the end of a job. Nobody waits for the commit of one task among many.
  const bool ends_job = std::any_of(decisions.begin(), decisions.end(), [](const sched::Decision& d) {
    return std::holds_alternative<sched::CommitJob>(d) || std::holds_alternative<sched::FailJob>(d);
  });
  if (ends_job || !std::holds_alternative<sched::AttemptFinished>(event->stamped.event)) {
    return journal_->Append(record_class, kind, std::move(payload));
  }
  return journal_->Append(record_class, kind, std::move(payload), kCommitDelay);
}

Driver::Fed Driver::Feed(sched::Event event, std::string extra) {
  return Feed(EventRecord{{clock_.Stamp(), std::move(event)}, std::move(extra)});
}

Driver::Fed Driver::Feed(Record record) {
  std::vector<FollowUp> follow_ups;
  Fed fed = FeedOne(std::move(record), &follow_ups);
  FollowUpOn(std::move(follow_ups));
  return fed;
}

uint64_t Driver::FeedAll(std::vector<Record> records) {
  uint64_t last = 0;
  for (Record& record : records) {
    const auto* change = std::get_if<dfs::Record>(&record);
    const bool kept = change == nullptr || dfs::IsHard(*change);
    const uint64_t sequence = Feed(std::move(record)).sequence;
    if (kept) last = sequence;
  }
  return last;
}

void Driver::FeedDfs(dfs::Record record) { Feed(Record(std::move(record))); }

void Driver::Hold(uint64_t sequence, std::function<void()> action) { outbox_.Hold(sequence, std::move(action)); }

// Most requests are answered at once: a job's plan was made when it was submitted.
void Driver::FollowUpOn(std::vector<FollowUp> follow_ups) {
  for (size_t i = 0; i < follow_ups.size(); ++i) {
    auto event = core_.Prepare(FollowUp(follow_ups[i]));
    if (!event) continue;
    if (const auto* known = std::get_if<sched::OperatorsKnown>(&*event)) {
      LOG(INFO) << Name(known->job) << ": tasks of " << CountOf(known->indeterminate.size(), "stage")
                << " are not cloned, since their operators gave other content for equal input in earlier jobs";
    }
    (void)FeedOne(EventRecord{{clock_.Stamp(), *std::move(event)}, {}}, &follow_ups);
  }
}

Driver::Fed Driver::FeedOne(Record record, std::vector<FollowUp>* follow_ups) {
  const auto* change = std::get_if<dfs::Record>(&record);
  const bool kept = change == nullptr || dfs::IsHard(*change);
  if (change != nullptr) {
    for (dfs::Record& placed : core_.files().PlacedBy(*change)) (void)FeedOne(Record(std::move(placed)), follow_ups);
  }
  Fed fed{kept ? journal_->Reserve() : dfs_sequence_, {}};
  Applied applied = core_.Apply(&record, {fed.sequence, WallClockMs()});
  if (kept) MR_CHECK(Append(record, applied.decisions) == fed.sequence, "another thread appends to the journal");
  if (change != nullptr) dfs_sequence_ = fed.sequence;
  loss_open_ = core_.loss().open();
  follow_ups->insert(follow_ups->end(), applied.follow_ups.begin(), applied.follow_ups.end());
  if (!applied.replicas.added.empty() || !applied.replicas.removed.empty()) {
    effects_.ReplicasChanged(applied.replicas.added, applied.replicas.removed);
  }
  for (const auto& decision : applied.decisions) {
    // This record made the job's output visible.
    if (std::holds_alternative<sched::CommitJob>(decision)) dfs_sequence_ = fed.sequence;
  }
  uint64_t last = fed.sequence;
  for (dfs::Record& unplaced : core_.files().UnplacedBy(applied.blocks)) {
    last = FeedOne(Record(std::move(unplaced)), follow_ups).sequence;
  }
  effects_.CarryOutBlocks(std::move(applied.blocks), last);
  for (const auto& decision : applied.decisions) {
    if (holds_effects_)
      held_effects_.emplace_back(decision, fed.sequence);
    else
      effects_.CarryOut(decision, fed.sequence);
  }
  if (!holds_effects_) ArmTimer();
  fed.decisions = std::move(applied.decisions);
  return fed;
}

// Records up to this one are durable.
void Driver::Release(uint64_t sequence) {
  for (const JobId job : core_.NoteDurable(sequence)) effects_.JobEnded(job);
  outbox_.Release(sequence);
}

void Driver::ArmTimer() {
  const auto next = core_.NextTimer();
  if (!next || (!armed_.empty() && *armed_.begin() <= *next)) return;
  armed_.insert(*next);
  clock_.AtLived(clock_.LivedAt(*next), [this, at = *next] {
    armed_.erase(at);
    FireTimers();
  });
}

void Driver::FireTimers() {
  // Timers that these set fire in the next turn.
  const Instant now = clock_.Stamp();
  for (size_t left = core_.open().timers.size(); left > 0; --left) {
    auto due = core_.DueTimer(now);
    if (!due) break;
    Feed(*std::move(due));
  }
  ArmTimer();
}

}  // namespace mr::master
