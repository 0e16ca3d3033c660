// Start and restart: the journal is replayed into a fresh scheduler and fresh tables, the new epoch
// is made durable, and what was under way is taken up again.
#include <glog/logging.h>

#include <algorithm>

#include "common/io/clock.h"
#include "master/server/brain.h"
#include "master/server/spec_bytes.h"

namespace mr::master {
namespace {

// A later release may refuse what an earlier one took.
Status CheckSubmitted(JobId job, const std::string& extra) {
  SubmitExtra submit;
  if (!DecodeSubmit(extra, &submit)) return Corrupted("the journal holds " + Name(job) + " without its spec");
  const auto spec = SpecOf(submit.spec);
  if (spec.ok()) return Status::Ok();
  return spec.status().With("the journal's " + Name(job) +
                            " is not valid to this release (start the one that wrote it)");
}

std::string Differs(uint64_t events) {
  return "the replay of " + std::to_string(events) +
         " events gives another state than the one that was recorded. This release does not decide "
         "as the one that wrote the journal; start that release, or report this as a bug (mrsim replay shows the "
         "place)";
}

}  // namespace

Status Brain::Recover() {
  auto opened =
      journal::Journal::Open({.directory = options_.directory + "/journal",
                              .cluster_id = options_.cluster_id,
                              .preallocate_bytes = std::min<uint64_t>(4 << 20, options_.snapshot_bytes),
                              .segment_bytes = options_.snapshot_bytes,
                              .witness = options_.directory + "/journal_witness",
                              .expected = options_.cluster_known,
                              .accept_loss = options_.accept_loss},
                             [this](const journal::Record& record, uint64_t offset) { return Replay(record, offset); });
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
  stamp_base_ = std::max(stamp_base_, last_stamp_ + Millis(1));
  stamp_start_ = Lived();
  BeginEpoch();
  snapshot_at_ = journal_->read().snapshot;
  if (journal_->read().closed_segments > 0) closed_ = recovery.header.after;
  MakeSnapshot();
  return Status::Ok();
}

Result<journal::DirectoryRead> Brain::ReplayOnly(uint64_t until) {
  return journal::ReadDirectory(
      options_.directory + "/journal", 0, until,
      [this](const journal::Record& record, uint64_t offset) { return Replay(record, offset); });
}

void Brain::BeginEpoch() {
  epoch_ = first_epoch_ = journal_->last_epoch() + 1;
  if (foreign_) LeaveForeign();
  journal_->Start(
      epoch_, [this](uint64_t sequence) { loop_.Post([this, sequence] { outbox_.Release(sequence); }); },
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
  const EpochStarted started{epoch_, options_.scheduler_version, WallClockMs()};
  const uint64_t first = Append(journal::RecordClass::kHard, RecordKind::kEpoch, EncodeFields(started));
  journal_->WaitDurable(first);
  epochs_.Began({started.epoch, started.wall_ms, first, namespace_.NextBlock()});
  if (const auto& lost = journal_->accepted_loss()) {
    const JournalLoss loss{lost->known_epoch, lost->known, lost->kept, epoch_, WallClockMs(), "", true};
    const uint64_t sequence = Append(journal::RecordClass::kHard, RecordKind::kLoss, EncodeFields(loss));
    TakeLoss(loss, sequence);
    RaiseIds();
    journal_->WaitDurable(dfs_sequence_);
    journal_->LossSettled();
  }
  // All state stands before the first event is fed: what a decision asks for reads tables as well as the scheduler.
  const auto unplanned = std::move(unplanned_);
  unplanned_.clear();
  RestoreSlices();
  const Duration promised = std::max(promised_wait_, scheduler_->state().config().lost_wait);
  Feed(sched::ConfigChanged{options_.policies, options_.seed, options_.scheduler_version, Millis(100)});
  SetEffectsWait(journal_->last_epoch() == 0 ? Duration{} : promised);
  TakeOver();
  for (const auto& [job, stage] : unplanned) late_plans_.insert({job, stage});
  PlanLate();
  for (const auto& [key, at] : replayed_timers_) SetTimer({key.first, key.second, at});
  replayed_timers_.clear();
  const Instant now = Lived();
  AwaitAlive();
  std::vector<WorkerId> known, awaited;
  for (auto& [id, worker] : workers_.all()) {
    if (worker.alive) known.push_back(id);
    if (worker.awaited) awaited.push_back(id);
  }
  Dispatch(namespace_.Apply(dfs::MasterStarted{Stamp(), known, awaited}), 0);
  if (InLossMode()) {
    LOG(ERROR) << "journal: safe mode: " << LossWords();
    ApplyDfs(dfs::SafeModeHeld{Stamp(), true});
  }
  for (auto& [id, worker] : workers_.all()) {
    if (!worker.alive) continue;
    worker.away = true;
    Feed(sched::WorkerAway{id, worker.info.incarnation});
  }
  AtLived(now + kRestartGrace, [this] {
    for (auto& [id, worker] : workers_.all()) {
      if (worker.away) Lose(id, "it did not come back after the master's restart");
    }
  });
  for (const JobId job : std::set<JobId>(unpublished_)) Publish(job, 1);
  for (const JobId job : std::set<JobId>(uncleaned_)) CleanUp(job);
  ReleaseStrayPins();
  Tick();
  TickDfs();
  KeepHouse();
  CarryOutHeld();
}

// Attempts that the master before this one launched may live for as long as that one promised them.
void Brain::SetEffectsWait(Duration promised) {
  const Duration wait = options_.effects_lease + kLeaseMargin;
  const Duration now = std::max(wait, promised);
  if (scheduler_->state().config().lost_wait != now) Feed(sched::LeaseSet{now});
  if (wait < now) shorter_wait_ = {Lived() + now, wait};
}

void Brain::AwaitAlive() {
  for (auto& [id, worker] : workers_.all()) {
    if (worker.alive && !worker.drained_by_user && !worker.excluded) worker.awaited = true;
  }
}

// Behind the records of another build: whatever that had under way is not known here.
void Brain::LeaveForeign() {
  foreign_ = false;
  unplanned_.clear();
  replayed_timers_.clear();
  jobs_.EndAllAttempts(last_stamp_, "another release of the master launched it");
}

// Jobs that ran under another build go on from the outputs that they have committed. Looks at what the
// scheduler lacks, so that a crash in the midst of this is made up for by the next start.
void Brain::TakeOver() {
  for (auto& [id, worker] : workers_.all()) {
    if (!worker.alive) continue;
    const sched::Worker* known = scheduler_->state().FindWorker(id);
    if (known != nullptr && known->alive && known->incarnation == worker.info.incarnation) continue;
    Feed(worker.info);
    Feed(sched::WorkerAway{id, worker.info.incarnation});
  }
  for (const auto& [name, set] : std::map<std::string, sched::QueueSet>(queues_)) {
    const auto known = scheduler_->state().queues().find(name);
    if (known != scheduler_->state().queues().end() && known->second.set && known->second.weight == set.weight &&
        known->second.min_share == set.min_share && known->second.max_share == set.max_share) {
      continue;
    }
    Feed(set);
  }
  std::vector<JobId> lacking;
  for (const auto& [id, job] : jobs_.jobs()) {
    if (Ended(job.state) || job.state == JobState::kCommitting) continue;
    if (scheduler_->state().FindJob(id) == nullptr) lacking.push_back(id);
  }
  for (const JobId id : lacking) {
    JobView& job = *jobs_.Find(id);
    for (uint32_t s = 0; s < job.stages.size(); ++s) job.plan.stages[s].tasks = UncutTasks(job, s);
    std::set<uint32_t> unsure;  // stages
    sched::JobTakenOver taken{SubmittedJob(id, job.spec), {}, epoch_, {}};
    for (uint32_t s = 0; s < job.stages.size(); ++s) {
      taken.plans.push_back(PlannedStage({id, s, {}}));
      // Those that read it read all of its tasks.
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
      // Where an input's content changed, the table does not say what of the committed still stands.
      for (uint32_t t = 0; t < job.stages[s].tasks.size() && !job.rolled_back; ++t) {
        const TaskView& task = job.stages[s].tasks[t];
        if (!task.committed || unsure.contains(s)) continue;
        taken.outputs.push_back({s, t, task.generation, task.winner, task.manifest, {}});
        for (const ReplicaView& replica : task.replicas) taken.outputs.back().replicas.push_back(replica.replica);
      }
    }
    LOG(WARNING) << Name(id) << " ran under another release: it goes on from " << taken.outputs.size()
                 << " committed outputs";
    Feed(std::move(taken));
    Feed(sched::JobSet{id, job.spec.priority, job.spec.deadline, std::max(Stamp() - job.submitted, Nanos(1))});
  }
  // For these jobs, and for one whose submission is the last record before a crash.
  std::vector<JobId> running;
  for (const auto& [id, job] : scheduler_->state().jobs()) {
    if (job.running()) running.push_back(id);
  }
  for (const JobId id : running) TellOfOperators(id);
  // A job that was submitted just before a crash, or under another release, has no prediction yet.
  for (const JobId id : running) ForetellRunning(id);
}

Status Brain::Replay(const journal::Record& record, uint64_t offset) {
  const auto bad = [&](const std::string& what) {
    return Corrupted("record " + std::to_string(record.sequence) + " at offset " + std::to_string(offset) +
                     " of the journal in " + options_.directory + "/journal: " + what);
  };
  switch (static_cast<RecordKind>(record.kind)) {
    case RecordKind::kEvent: return ReplayEvent(record, offset);
    case RecordKind::kEpoch: {
      EpochStarted epoch;
      if (!DecodeFields(record.payload, &epoch)) return bad("not an epoch");
      epochs_.Began({epoch.epoch, epoch.wall_ms, record.sequence, namespace_.NextBlock()});
      AwaitAlive();
      if (epoch.scheduler_version != options_.scheduler_version && !foreign_) {
        foreign_ = true;
        scheduler_ = std::make_unique<sched::Scheduler>();
      } else if (epoch.scheduler_version == options_.scheduler_version && foreign_) {
        LeaveForeign();  // what it took over comes as events
      }
      return Status::Ok();
    }
    case RecordKind::kWorker: {
      WorkerNamed named;
      if (!DecodeFields(record.payload, &named)) return bad("not a worker's name");
      workers_.Restore(named.name, named.worker);
      return Status::Ok();
    }
    case RecordKind::kDrained: {
      WorkerDrained drained;
      if (!DecodeFields(record.payload, &drained)) return bad("not a worker's drain");
      WorkerView* worker = workers_.Find(drained.worker);
      if (worker == nullptr) return bad("a drain of an unknown worker");
      worker->drained_by_user = drained.on;
      worker->awaited = worker->awaited && !drained.on;
      return Status::Ok();
    }
    case RecordKind::kExcluded: {
      WorkerExcluded excluded;
      if (!DecodeFields(record.payload, &excluded)) return bad("not a worker's exclusion");
      WorkerView* worker = workers_.Find(excluded.worker);
      if (worker == nullptr) return bad("an exclusion of an unknown worker");
      worker->excluded = excluded.on;
      worker->awaited = worker->awaited && !excluded.on;
      return Status::Ok();
    }
    case RecordKind::kWrongOutputs: {
      WorkerWrongOutputs wrong;
      if (!DecodeFields(record.payload, &wrong)) return bad("not a worker's count of wrong outputs");
      WorkerView* worker = workers_.Find(wrong.worker);
      if (worker == nullptr) return bad("wrong outputs of an unknown worker");
      worker->wrong_outputs = wrong.count;
      return Status::Ok();
    }
    case RecordKind::kLoss: {
      JournalLoss loss;
      if (!DecodeFields(record.payload, &loss)) return bad("not a loss");
      TakeLoss(loss, record.sequence);
      return Status::Ok();
    }
    case RecordKind::kPublished: {
      JobPublished published;
      if (!DecodeFields(record.payload, &published)) return bad("not a publication");
      JobView* job = jobs_.Find(published.job);
      if (job == nullptr) return bad("a publication of an unknown job");
      job->state = published.error.empty() ? JobState::kSucceeded : JobState::kFailed;
      job->error = published.error;
      SettleReplayed(published.job);
      jobs_.Shrink();
      unpublished_.erase(published.job);
      if (!published.error.empty()) uncleaned_.insert(published.job);
      return Status::Ok();
    }
    case RecordKind::kDigest: {
      if (foreign_) return Status::Ok();
      DigestTaken digest;
      if (!DecodeFields(record.payload, &digest)) return bad("not a digest");
      if (digest.events != events_ || digest.digest != scheduler_->Digest()) return bad(Differs(events_));
      return Status::Ok();
    }
    case RecordKind::kDfs: {
      dfs::Record change;
      if (!dfs::Decode(record.payload, &change)) return bad("not a change of the block store");
      (void)namespace_.Apply(change);  // what it asked for is found again from block reports
      return Status::Ok();
    }
    case RecordKind::kSnapshotHead:
    case RecordKind::kSnapshotScheduler:
    case RecordKind::kSnapshotJobs:
    case RecordKind::kSnapshotDfs: return Restore(record);
  }
  return bad("an unknown kind (" + std::to_string(record.kind) + "); a later release wrote it, start that one");
}

Status Brain::ReplayEvent(const journal::Record& record, uint64_t offset) {
  ++events_;
  outbox_.Release(record.sequence);
  // Only the promises of another build count.
  if (foreign_ && record.record_class == journal::RecordClass::kSoft) return Status::Ok();
  EventRecord event;
  if (!DecodeEvent(record.payload, &event)) {
    return Corrupted("record " + std::to_string(record.sequence) + " at offset " + std::to_string(offset) +
                     " is no event that this release knows; start the release that wrote it");
  }
  if (foreign_ && !event.outcome) {
    return Rejected(
        "the journal was written by a release with another scheduler that did not yet keep its decisions; "
        "let that release finish its jobs, then start this one on a fresh --data");
  }
  if (const auto* submitted = std::get_if<sched::JobSubmitted>(&event.stamped.event)) {
    MR_RETURN_IF_ERROR(CheckSubmitted(submitted->job, event.extra));
  }
  NoteQueue(event.stamped.event);
  last_stamp_ = std::max(last_stamp_, event.stamped.at);
  const auto decisions = foreign_ ? *event.outcome : scheduler_->Step(event.stamped);
  if (!foreign_ && event.digest && *event.digest != scheduler_->Digest()) {
    return Corrupted("record " + std::to_string(record.sequence) + " at offset " + std::to_string(offset) +
                     " of the journal in " + options_.directory + "/journal: " + Differs(events_));
  }
  NoteOutstanding(event.stamped, decisions);
  (void)jobs_.Fold(event.stamped, event.extra, decisions, record.sequence);
  NoteRandomOperators(decisions);
  NoteSkew(event, decisions);
  for (const auto& decision : decisions) {
    if (const auto* commit = std::get_if<sched::CommitJob>(&decision)) {
      MR_RETURN_IF_ERROR(ApplyCommit(commit->job, event.extra, record.sequence));
      JobView* job = jobs_.Find(commit->job);
      if (job == nullptr) continue;
      if (!job->in_dfs()) {
        unpublished_.insert(commit->job);
        continue;
      }
      job->state = job->publish_error.empty() ? JobState::kSucceeded : JobState::kFailed;
      job->error = job->publish_error;
      SettleReplayed(commit->job);
    }
    if (const auto* failed = std::get_if<sched::FailJob>(&decision)) {
      uncleaned_.insert(failed->job);
      SettleReplayed(failed->job);
    }
  }
  jobs_.Shrink();
  return Status::Ok();
}

void Brain::SettleReplayed(JobId id) {
  jobs_.Settle(id);
  skew_.Forget(id);
}

// Adds the hottest keys of a committed output to the skew table, like the report did.
void Brain::NoteSkew(const EventRecord& event, const std::vector<sched::Decision>& decisions) {
  const auto* finished = std::get_if<sched::AttemptFinished>(&event.stamped.event);
  if (finished == nullptr) return;
  const AttemptId& attempt = finished->attempt;
  const bool winner = std::any_of(decisions.begin(), decisions.end(), [&](const sched::Decision& decision) {
    const auto* accept = std::get_if<sched::Accept>(&decision);
    return accept != nullptr && accept->winner && accept->attempt == attempt;
  });
  JobView* job = winner ? jobs_.Find(attempt.task.job) : nullptr;
  if (job == nullptr || job->brief) return;
  FinishedExtra extra;
  std::vector<HotKey> hot;
  if (!DecodeFinished(event.extra, &extra, &hot)) return;
  const auto& total = finished->manifest;
  const StagePlan& plan = job->plan.stages[attempt.task.stage];
  if (skew_.Committed(attempt.task, plan, total.records, total.bytes, extra, {}, hot)) job->skew = skew_.Of(job->id);
}

// Notes the requests that the last master had not answered, and the workers that it knew.
void Brain::NoteOutstanding(const sched::StampedEvent& stamped, const std::vector<sched::Decision>& decisions) {
  if (const auto* planned = std::get_if<sched::StagePlanned>(&stamped.event)) {
    unplanned_.erase({planned->job, planned->stage});
  } else if (const auto* due = std::get_if<sched::TimerDue>(&stamped.event)) {
    const auto it = replayed_timers_.find({due->policy, due->id});
    if (it != replayed_timers_.end()) replayed_timers_.erase(it);
  } else if (const auto* registered = std::get_if<sched::WorkerRegistered>(&stamped.event)) {
    if (WorkerView* worker = workers_.Find(registered->worker)) {
      worker->alive = true;
      worker->awaited = false;
      worker->info = *registered;
      worker->info.inventory.clear();
      worker->info.running.clear();
    }
  } else if (const auto* lease = std::get_if<sched::LeaseSet>(&stamped.event)) {
    promised_wait_ = lease->wait;
  } else if (const auto* lost = std::get_if<sched::WorkerLost>(&stamped.event)) {
    WorkerView* worker = workers_.FindAlive(lost->worker, lost->incarnation);
    if (worker != nullptr) worker->alive = false;
  }
  for (const auto& decision : decisions) {
    if (const auto* plan = std::get_if<sched::PlanStage>(&decision)) unplanned_.insert({plan->job, plan->stage});
    if (const auto* wake = std::get_if<sched::WakeAt>(&decision)) {
      replayed_timers_.emplace(std::make_pair(wake->policy, wake->id), wake->at);
    }
    if (const auto* failed = std::get_if<sched::FailJob>(&decision)) {
      unplanned_.erase(unplanned_.lower_bound({failed->job, 0}), unplanned_.upper_bound({failed->job, UINT32_MAX}));
    }
  }
}

}  // namespace mr::master
