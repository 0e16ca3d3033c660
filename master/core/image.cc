// Converts the core's state to bytes and back, for snapshots, and computes its digest. A later release reads these
// bytes even if it does not read the scheduler's image. How to add a field: common/base/fields.h.
#include "master/core/image.h"

#include <utility>

#include "common/base/digest.h"
#include "common/base/fields.h"
#include "master/core/master_core.h"
#include "master/sched/state/state.h"

namespace mr::master {
namespace {

Status Unreadable() { return Corrupted("a snapshot's head cannot be read"); }

}  // namespace

// hard: only what records determine, and neither what was cleaned up meanwhile nor the sizes behind skewed keys.
std::string MasterCore::Head(bool hard) const {
  SnapshotHead head;
  head.scheduler_version = foreign_ ? 0 : config_.scheduler_version;
  head.events = events_;
  head.last_stamp = last_stamp_;
  HeadTails tails;
  for (const auto& [id, worker] : workers_.all()) {
    head.workers.push_back({worker.name, id, worker.alive, worker.drained_by_user, worker.info});
    if (worker.excluded) tails.excluded.push_back(id);
    if (worker.awaited) tails.awaited.push_back(id);
    if (worker.wrong_outputs != 0) tails.wrong_outputs.push_back({id, worker.wrong_outputs});
  }
  head.unplanned.assign(open_.unplanned.begin(), open_.unplanned.end());
  for (const Timers::Timer& timer : open_.timers.All()) head.timers.push_back({timer.policy, timer.id, timer.at});
  head.unpublished.assign(open_.unpublished.begin(), open_.unpublished.end());
  for (const auto& [name, set] : queues_) tails.queues.push_back(set);
  tails.random = random_operators_.All();
  tails.epochs = epochs_.all();
  if (loss_.last()) tails.losses.push_back(*loss_.last());
  tails.next_blocks = epochs_.NextBlocks();
  if (!hard) {
    tails.skew = skew_.Save();
    // A replay does not see what was cleaned up. The staging of jobs in brief was: they ended long ago.
    for (const JobId id : open_.uncleaned) {
      if (jobs_.Whole(id)) head.uncleaned.push_back(id);
    }
  }
  std::string bytes = EncodeFields(head) + EncodeFields(tails);
  // Earlier releases read a snapshot without it.
  if (workers_.last_forgotten().valid()) bytes += EncodeFields(workers_.last_forgotten());
  return bytes;
}

void MasterCore::Save(const std::function<void(RecordKind, std::string)>& part) const {
  part(RecordKind::kSnapshotHead, Head(false));
  const auto add = [&part](RecordKind kind) {
    return [&part, kind](std::string bytes) { part(kind, std::move(bytes)); };
  };
  // Between an epoch and its first event there is nothing to save.
  if (!foreign_ && scheduler_->state().config().known) scheduler_->Save(add(RecordKind::kSnapshotScheduler));
  jobs_.Save(add(RecordKind::kSnapshotJobs));
  part(RecordKind::kSnapshotDfs, files_->Snapshot());
}

Status MasterCore::Restore(RecordKind kind, std::string_view part, uint64_t sequence) {
  switch (kind) {
    case RecordKind::kSnapshotHead: return RestoreHead(part, sequence);
    case RecordKind::kSnapshotScheduler:
      if (foreign_) return Status::Ok();
      scheduler_restored_ = true;
      return scheduler_->RestorePart(part);
    case RecordKind::kSnapshotJobs: return jobs_.RestorePart(part, read_spec_);
    case RecordKind::kSnapshotDfs:
      if (scheduler_restored_) MR_RETURN_IF_ERROR(scheduler_->FinishRestore());
      for (const JobId job : open_.unpublished) {
        if (jobs_.Find(job) == nullptr) return Corrupted("a snapshot that is to publish a job which it does not have");
      }
      MR_RETURN_IF_ERROR(RestoreSlices());
      return files_->Restore(std::string(part));
    default: return Corrupted("a record of no kind that snapshots have");
  }
}

Status MasterCore::RestoreHead(std::string_view part, uint64_t sequence) {
  SnapshotHead head;
  HeadTails tails;
  FieldReader reader(part);
  reader.Get(head);
  reader.Get(tails);
  WorkerId last_forgotten;
  if (reader.ok() && !reader.AtEnd()) reader.Get(last_forgotten);
  if (!reader.ok() || !reader.AtEnd()) return Unreadable();
  if (!tails.skew.empty() && !skew_.Restore(tails.skew)) return Unreadable();
  for (const sched::QueueSet& set : tails.queues) queues_[set.queue] = set;
  for (const EpochBegun& epoch : tails.epochs) epochs_.Began(epoch);
  epochs_.SetNextBlocks(tails.next_blocks);
  if (!epochs_.all().empty()) epoch_ = epochs_.all().back().epoch;
  for (const JournalLoss& loss : tails.losses) TakeLoss(loss, sequence);
  for (const RandomOperators::Found& found : tails.random) random_operators_.Add(found.op, found.job);
  foreign_ = head.scheduler_version != config_.scheduler_version;
  events_ = head.events;
  last_stamp_ = head.last_stamp;
  workers_.SetLastForgotten(last_forgotten);
  for (const SnapshotHead::Worker& saved : head.workers) {
    workers_.Restore(saved.name, saved.id);
    WorkerView& worker = *workers_.Find(saved.id);
    worker.alive = saved.alive;
    worker.drained_by_user = saved.drained_by_user;
    worker.info = saved.info;
  }
  const auto each = [this](const std::vector<WorkerId>& ids, bool WorkerView::*field) {
    for (const WorkerId id : ids) {
      if (WorkerView* worker = workers_.Find(id)) worker->*field = true;
    }
  };
  each(tails.excluded, &WorkerView::excluded);
  each(tails.awaited, &WorkerView::awaited);
  for (const auto& [id, count] : tails.wrong_outputs) {
    if (WorkerView* worker = workers_.Find(id)) worker->wrong_outputs = count;
  }
  open_.unplanned.insert(head.unplanned.begin(), head.unplanned.end());
  for (const SnapshotHead::Timer& timer : head.timers) open_.timers.Set({timer.policy, timer.id, timer.at});
  open_.unpublished.insert(head.unpublished.begin(), head.unpublished.end());
  open_.uncleaned.insert(head.uncleaned.begin(), head.uncleaned.end());
  return Status::Ok();
}

// A job's image lacks the slices of stages that were planned; the scheduler has them.
Status MasterCore::RestoreSlices() {
  for (const auto& [id, known] : scheduler_->state().jobs()) {
    JobView* job = jobs_.Find(id);
    if (job == nullptr || job->brief) continue;
    if (job->plan.stages.size() != known.stages.size()) return Corrupted("a snapshot with other stages of " + Name(id));
    for (uint32_t s = 0; s < known.stages.size(); ++s) {
      auto& slices = job->plan.stages[s].slices;
      if (!known.stages[s].planned() || !slices.empty()) continue;
      for (const sched::Task& task : known.stages[s].tasks) slices.push_back(task.plan.slices);
    }
  }
  return Status::Ok();
}

uint64_t MasterCore::Digest() const {
  uint64_t digest = Hash64(Head(true), files_->HardDigest());
  if (!foreign_ && scheduler_->state().config().known) digest ^= scheduler_->Digest();
  jobs_.Save([&digest](const std::string& part) { digest = Hash64(part, digest); }, true);
  return digest;
}

}  // namespace mr::master
