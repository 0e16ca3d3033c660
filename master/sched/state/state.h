// The scheduler's state: the fold of all events and of its own decisions.
//
// All code may read it (policies through View, the host's status pages, tests). Only the setters write it. They keep
// three things in step: the digest (a sum of per-entity hashes, so that one change costs one entity), the ordered
// indexes, and the counters. No container here has an order that depends on addresses or on a hash.
//
// It is made of layers, each with its own data and reading functions: entities (store.h), then racks, workers, queues,
// locality, ready and rates (index/), then replicas.h. A layer uses those below it. Here are the setters of workers,
// jobs, tasks and attempts, which change an entity and notify the indexes, and the image.
//
// Cost: a setter touches what it names. Only EndJob, the removal of an ended job and CheckState walk all tasks or
// attempts.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "master/sched/state/replicas.h"

namespace mr::sched {

class State : public ReplicaSetters {
 public:
  // Setters. Requires, for each: the entities that it names exist.
  void SetConfig(const ConfigChanged& event, Instant now);
  void SetLease(Duration wait);
  void SetSharing(const Sharing& sharing);  // walks all running jobs

  void PutWorker(const WorkerRegistered& event);  // arrives or returns: alive and not held
  template <class F>
  void EditWorker(WorkerId id, F&& edit) {
    Worker& w = WorkerOf(id);
    digest_ -= Hash(w);
    edit(w);
    digest_ += Hash(w);
    RefreshWorker(w);
  }
  void HoldWorker(WorkerId id, Instant until);
  void ReleaseWorker(WorkerId id);  // no-op if it is not held

  void AddJob(const JobSubmitted& event, Instant now);
  // Edits fields of a job that no index and no counter uses.
  template <class F>
  void EditJob(JobId id, F&& edit) {
    Job& job = JobOf(id);
    digest_ -= Hash(job);
    edit(job);
    digest_ += Hash(job);
  }
  // Settings of a running job: its guarantee (Job::share), its user settings, its prediction.
  void SetShare(JobId id, uint32_t slots);
  void SetWishes(const JobSet& event, Instant now);
  void SetPrediction(const ProfileLoaded& event);  // Requires: Valid
  // Takes the job out of every index and forgets its replicas. Attempts with a slot keep it.
  void EndJob(JobId id, JobState state, const std::string& message, Instant now);
  void AskPlan(StageId id);
  void MarkStageIndeterminate(StageId id);
  void SetPlan(const StagePlanned& event, Instant now);  // Requires: a plan that CheckPlan accepts

  // `edit` may change the task and its attempts (through EditAttempt), not its plan or replicas.
  template <class F>
  void EditTask(const TaskId& id, F&& edit) {
    Task& task = BeginTask(id);
    edit(task);
    FinishTask(id, task);
  }
  void HoldTask(const TaskId& id, Instant until);
  void ReleaseTask(const TaskId& id);  // no-op if it is not held
  void SetUnended(const TaskId& id, std::vector<Unended> unended);
  uint32_t AddAttempt(const TaskId& id, WorkerId worker, Cause cause, Instant now, bool by_bind = false);
  // Edits fields of an attempt that no index uses: progress and times.
  template <class F>
  void EditAttempt(const AttemptId& id, F&& edit) {
    Attempt& attempt = AttemptOf(id);
    digest_ -= Hash(id.task, attempt);
    edit(attempt);
    digest_ += Hash(id.task, attempt);
    Rerate(id);
  }
  // Requires: an attempt with a slot. `state` is kEnding (keeps the slot) or an end (frees it).
  void MoveAttempt(const AttemptId& id, AttemptState state, Instant now);
  // Commits the task by the attempt's report: ends the attempt, frees its slot, fixes the content.
  void Commit(const AttemptId& id, const Manifest& manifest, Instant now, Duration ran = {}, Duration waited = {});
  // Commits a task without attempts by an output that was taken over.
  void KeepOutput(const TaskId& id, const KeptOutput& output);
  void MarkTakenBack(const AttemptId& id);  // before it moves to kEnding
  void AddSample(const AttemptId& id, const Sample& sample, bool inputs_done);

  // image.cc: see Scheduler::Save and Restore.
  void Save(const std::function<void(std::string)>& part) const;
  Status RestorePart(std::string_view part);
  Status FinishRestore();

 private:
  // Values before an edit, so that FinishTask refreshes only what changed.
  struct Before {
    bool committed = false, none_pending = false, complete = false, fetching = false;
  };

  Task& BeginTask(const TaskId& id);              // removes it from the indexes and the digest
  void FinishTask(const TaskId& id, Task& task);  // adds it back
  // Notifies the indexes that follow tasks.
  void Notify(const EntityChanged& change);
  static void NoteContent(Stage& stage, uint32_t task);
  template <class F>
  void LeaveAttempt(Task& task, const AttemptId& id, AttemptState state, Instant now, F&& also);
  void TakeSlot(const AttemptId& id, Attempt& attempt, int direction);

  // end.cc
  // Prefetches into the CPU cache.
  void FetchAhead(const std::vector<Task>& tasks, uint32_t t) const;
  void RemoveJob(JobId id);
  void PruneEndedJobs();
  // settings.cc, image.cc
  static void TakeWishes(const JobSubmitted& event, Job* job);
  void IndexRestored(Job& job);

  Before before_;
  uint64_t image_digest_ = 0;  // expected digest of a restored image
  size_t ended_tasks_ = 0;     // derived: tasks of ended jobs
};

// Returns an error in the state, or "". Walks everything: for tests.
std::string CheckState(const State& state);

}  // namespace mr::sched
