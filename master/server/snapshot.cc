// Snapshots, made by a replay of the closed part of the journal beside the running master. So the
// master's thread neither waits nor copies its state, and the snapshot is the state that a restart reads.
#include <glog/logging.h>

#include "common/io/clock.h"
#include "master/server/brain.h"

namespace mr::master {

Status Brain::Save(journal::SnapshotWriter* writer) const {
  SnapshotHead head;
  head.scheduler_version = foreign_ ? 0 : options_.scheduler_version;
  head.events = events_;
  head.last_stamp = last_stamp_;
  for (const auto& [id, worker] : workers_.all()) {
    head.workers.push_back({worker.name, id, worker.alive, worker.drained_by_user, worker.info});
  }
  for (const auto& [job, stage] : unplanned_) head.unplanned.push_back({job, stage});
  for (const auto& [key, at] : replayed_timers_) head.timers.push_back({key.first, key.second, at});
  head.unpublished.assign(unpublished_.begin(), unpublished_.end());
  // The replay does not see what was cleaned; those that ended long ago were.
  for (const JobId id : uncleaned_) {
    if (jobs_.Whole(id)) head.uncleaned.push_back(id);
  }
  Status status;
  const auto add = [&](RecordKind kind) {
    return [&status, writer, kind](const std::string& part) {
      if (status.ok()) status = writer->Add(static_cast<uint8_t>(kind), part);
    };
  };
  std::vector<sched::QueueSet> queues;
  for (const auto& [name, set] : queues_) queues.push_back(set);
  std::vector<WorkerId> excluded, awaited;
  for (const auto& [id, worker] : workers_.all()) {
    if (worker.excluded) excluded.push_back(id);
    if (worker.awaited) awaited.push_back(id);
  }
  std::vector<WorkerWrongOutputs> wrong_outputs;
  for (const auto& [id, worker] : workers_.all()) {
    if (worker.wrong_outputs != 0) wrong_outputs.push_back({id, worker.wrong_outputs});
  }
  std::vector<JournalLoss> losses;
  if (loss_) losses.push_back(*loss_);
  add(RecordKind::kSnapshotHead)(EncodeFields(head) + EncodeFields(queues) + EncodeFields(random_operators_.All()) +
                                 EncodeFields(excluded) + EncodeFields(awaited) + EncodeFields(wrong_outputs) +
                                 EncodeFields(epochs_.all()) + EncodeFields(losses) + EncodeFields(skew_.Save()) +
                                 EncodeFields(epochs_.NextBlocks()));
  // Between an epoch and its first event there is nothing to save.
  if (!foreign_ && scheduler_->state().config().known) scheduler_->Save(add(RecordKind::kSnapshotScheduler));
  jobs_.Save(add(RecordKind::kSnapshotJobs));
  add(RecordKind::kSnapshotDfs)(namespace_.Snapshot());
  return status;
}

Status Brain::Restore(const journal::Record& record) {
  switch (static_cast<RecordKind>(record.kind)) {
    case RecordKind::kSnapshotHead: {
      SnapshotHead head;
      std::vector<sched::QueueSet> queues;  // none in snapshots of releases without them
      FieldReader reader(record.payload);
      reader.Get(head);
      if (reader.ok() && !reader.AtEnd()) reader.Get(queues);
      std::vector<RandomOperators::Found> random;  // likewise
      if (reader.ok() && !reader.AtEnd()) reader.Get(random);
      std::vector<WorkerId> excluded;  // likewise
      if (reader.ok() && !reader.AtEnd()) reader.Get(excluded);
      std::vector<WorkerId> awaited;  // likewise
      if (reader.ok() && !reader.AtEnd()) reader.Get(awaited);
      std::vector<WorkerWrongOutputs> wrong_outputs;  // likewise
      if (reader.ok() && !reader.AtEnd()) reader.Get(wrong_outputs);
      std::vector<EpochBegun> epochs;  // likewise
      if (reader.ok() && !reader.AtEnd()) reader.Get(epochs);
      std::vector<JournalLoss> losses;  // likewise, at most one
      if (reader.ok() && !reader.AtEnd()) reader.Get(losses);
      std::string skew;  // likewise
      if (reader.ok() && !reader.AtEnd()) reader.Get(skew);
      std::vector<uint64_t> next_blocks;  // likewise; one for each epoch
      if (reader.ok() && !reader.AtEnd()) reader.Get(next_blocks);
      const bool skew_read = skew.empty() || skew_.Restore(skew);
      if (!reader.ok() || !reader.AtEnd() || !skew_read) return Corrupted("a snapshot's head cannot be read");
      for (const sched::QueueSet& set : queues) queues_[set.queue] = set;
      for (const EpochBegun& epoch : epochs) epochs_.Began(epoch);
      epochs_.SetNextBlocks(next_blocks);
      for (const JournalLoss& loss : losses) TakeLoss(loss, record.sequence);
      for (const auto& found : random) random_operators_.Add(found.op, found.job);
      foreign_ = head.scheduler_version != options_.scheduler_version;
      events_ = head.events;
      last_stamp_ = head.last_stamp;
      for (const auto& saved : head.workers) {
        workers_.Restore(saved.name, saved.id);
        WorkerView& worker = *workers_.Find(saved.id);
        worker.alive = saved.alive;
        worker.drained_by_user = saved.drained_by_user;
        worker.info = saved.info;
      }
      for (const WorkerId id : excluded) {
        if (WorkerView* worker = workers_.Find(id)) worker->excluded = true;
      }
      for (const WorkerId id : awaited) {
        if (WorkerView* worker = workers_.Find(id)) worker->awaited = true;
      }
      for (const auto& [id, count] : wrong_outputs) {
        if (WorkerView* worker = workers_.Find(id)) worker->wrong_outputs = count;
      }
      for (const StageId& stage : head.unplanned) unplanned_.insert({stage.job, stage.stage});
      for (const auto& timer : head.timers) replayed_timers_.emplace(std::make_pair(timer.policy, timer.id), timer.at);
      unpublished_.insert(head.unpublished.begin(), head.unpublished.end());
      uncleaned_.insert(head.uncleaned.begin(), head.uncleaned.end());
      return Status::Ok();
    }
    case RecordKind::kSnapshotScheduler:
      if (foreign_) return Status::Ok();
      scheduler_restored_ = true;
      return scheduler_->RestorePart(record.payload);
    case RecordKind::kSnapshotJobs: return jobs_.RestorePart(record.payload);
    case RecordKind::kSnapshotDfs:
      if (scheduler_restored_) MR_RETURN_IF_ERROR(scheduler_->FinishRestore());
      return namespace_.Restore(std::string(record.payload));
    default: return Corrupted("a record of no kind that snapshots have");
  }
}

void Brain::MakeSnapshot() {
  if (making_snapshot_ || closed_ <= snapshot_at_) return;
  making_snapshot_ = true;
  outlets_.InPool([this, options = options_, until = closed_] {
    const Instant begin = Now();
    const auto status = std::make_shared<Status>(TakeSnapshot(options, until));
    const Duration took = Now() - begin;
    loop_.Post([this, until, status, took] {
      making_snapshot_ = false;
      if (!status->ok()) {
        // Nothing is lost: the journal stays as it is, and grows until the next attempt.
        LOG(ERROR) << "journal: no snapshot was made: " << status->ToString();
        return;
      }
      snapshot_at_ = until;
      LOG(INFO) << "journal: snapshot at record " << until << " took " << took.ns / 1'000'000 << " ms";
      MakeSnapshot();
    });
  });
}

Status TakeSnapshot(const Brain::Options& options, uint64_t until) {
  Loop loop([] {});
  NoOutlets outlets;
  Brain brain(options, loop, outlets);
  const std::string directory = options.directory + "/journal";
  MR_ASSIGN_OR_RETURN(const auto read, brain.ReplayOnly(until));
  MR_ASSIGN_OR_RETURN(auto writer,
                      journal::SnapshotWriter::Create(directory, read.last.header.cluster_id, read.last.end));
  MR_RETURN_IF_ERROR(brain.Save(&writer));
  MR_RETURN_IF_ERROR(writer.Finish());
  return journal::RemoveCovered(directory, until, read.snapshot);
}

}  // namespace mr::master
