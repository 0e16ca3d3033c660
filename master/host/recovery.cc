// Start and restart: the journal is replayed into a fresh scheduler and fresh tables, the new epoch
// is made durable, and what was under way is taken up again.
#include <glog/logging.h>

#include <algorithm>

#include "common/io/clock.h"
#include "master/host/brain.h"
#include "master/host/read_journal.h"
#include "master/sched/state/state.h"

namespace mr::master {
Status Brain::Recover() {
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
  LOG(INFO) << "journal: read " << journal_->read().records << " records"
            << (journal_->read().snapshot == 0
                    ? ""
                    : " behind the snapshot at " + std::to_string(journal_->read().snapshot));
  if (recovery.cut_bytes > 0) {
    LOG(WARNING) << "journal: cut off " << recovery.cut_bytes << " bytes of an interrupted write at offset "
                 << recovery.end.offset << " (" << recovery.cut_records << " records that were never acknowledged)";
  }
  if (const auto& loss = journal_->accepted_loss()) {
    LOG(ERROR) << "journal: the loss of records behind " << loss->kept << ", up to " << loss->known
               << " at least, was accepted: " << loss->text;
  }
  replaying_ = false;
  outbox_.Release(recovery.end.sequence);
  loss_open_ = core_.loss().open();
  last_stamp_ = core_.last_stamp();
  stamp_base_ = std::max(stamp_base_, last_stamp_ + Millis(1));
  stamp_start_ = Lived();
  BeginEpoch();
  snapshot_at_ = journal_->read().snapshot;
  if (journal_->read().closed_segments > 0) closed_ = recovery.header.after;
  MakeSnapshot();
  return Status::Ok();
}

void Brain::BeginEpoch() {
  epoch_ = first_epoch_ = journal_->last_epoch() + 1;
  // Left by the master before this one. Jobs that this start adds are carried out with its other effects.
  const std::set<JobId> unpublished = core_.open().unpublished, uncleaned = core_.open().uncleaned;
  const Duration promised = std::max(core_.promised_wait(), core_.scheduler().state().config().lost_wait);
  journal_->Start(
      epoch_, [this](uint64_t sequence) { loop_.Post([this, sequence] { Release(sequence); }); },
      [this](uint64_t sequence) {
        loop_.Post([this, sequence] {
          closed_ = sequence;
          MakeSnapshot();
        });
      },
      [this](bool room) {
        loop_.Post([this, room] {
          journal_full_ = !room;
          if (room) {
            LOG(INFO) << "journal: there is room again";
            MakeSnapshot();
          } else {
            LOG(ERROR) << "journal: " << CheckRoom().message();
          }
        });
      });
  // Nobody hears of this epoch before it is on disk: two masters would otherwise share it.
  journal_->WaitDurable(Feed(Record(EpochStarted{epoch_, options_.scheduler_version, WallClockMs()})).sequence);
  if (const auto& lost = journal_->accepted_loss()) {
    Feed(Record(JournalLoss{lost->known_epoch, lost->known, lost->kept, epoch_, WallClockMs(), "", true}));
    RaiseIds();
    journal_->WaitDurable(dfs_sequence_);
    journal_->LossSettled();
  }
  // All state stands before the first event is fed: what a decision asks for reads tables as well as the scheduler.
  Feed(sched::ConfigChanged{options_.policies, options_.seed, options_.scheduler_version, Millis(100)});
  SetEffectsWait(journal_->last_epoch() == 0 ? Duration{} : promised);
  TakeOver();
  FollowUpOn(core_.Unanswered());
  const Instant now = Lived();
  std::vector<WorkerId> known, awaited;
  for (auto& [id, worker] : core_.workers().all()) {
    if (worker.alive) known.push_back(id);
    if (worker.awaited) awaited.push_back(id);
  }
  Feed(Record(dfs::MasterStarted{Stamp(), known, awaited}));
  if (InLossMode()) {
    LOG(ERROR) << "journal: safe mode: " << LossWords();
    ApplyDfs(dfs::SafeModeHeld{Stamp(), true});
  }
  for (auto& [id, worker] : core_.workers().all()) {
    if (!worker.alive) continue;
    worker.away = true;
    Feed(sched::WorkerAway{id, worker.info.incarnation});
  }
  AtLived(now + kRestartGrace, [this] {
    for (auto& [id, worker] : core_.workers().all()) {
      if (worker.away) Lose(id, "it did not come back after the master's restart");
    }
  });
  for (const JobId job : unpublished) Publish(job, 1);
  for (const JobId job : uncleaned) CleanUp(job);
  ReleaseStrayPins();
  Tick();
  TickDfs();
  KeepHouse();
  CarryOutHeld();
  ArmTimer();
}

// Attempts that the master before this one launched may live for as long as that one promised them.
void Brain::SetEffectsWait(Duration promised) {
  const Duration wait = options_.effects_lease + kLeaseMargin;
  const Duration now = std::max(wait, promised);
  if (core_.scheduler().state().config().lost_wait != now) Feed(sched::LeaseSet{now});
  if (wait < now) shorter_wait_ = {Lived() + now, wait};
}

// Jobs that ran under another build go on from the outputs that they have committed. Looks at what the
// scheduler lacks, so that a crash in the midst of this is made up for by the next start.
void Brain::TakeOver() {
  std::vector<std::string> notes;
  for (sched::Event& event : core_.PrepareTakeOver(Stamp(), &notes)) Feed(std::move(event));
  for (const std::string& note : notes) LOG(WARNING) << note;
  // For these jobs, and for one whose submission is the last record before a crash.
  std::vector<JobId> running;
  for (const auto& [id, job] : core_.scheduler().state().jobs()) {
    if (job.running()) running.push_back(id);
  }
  for (const JobId id : running) FollowUpOn({{FollowUp::Kind::kOperators, {id, 0}}});
  // A job that was submitted just before a crash, or under another release, has no prediction yet.
  for (const JobId id : running) ForetellRunning(id);
}

}  // namespace mr::master
