// The projection of a job: the facts that any later release of the master needs, whatever scheduler it has. These are
// what was submitted, how it was planned, which outputs are committed and where they can be read, and how the job
// ended. A takeover by another scheduler version starts from here (MasterCore::PrepareTakeOver).
//
// It is made from records and the promises of their outcomes alone, without the scheduler's state. While the scheduler
// knows a job, ask it which tasks are committed now: an output that was lost and is made again stays here until then.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/model/job_plan.h"
#include "common/model/job_spec.h"
#include "common/model/job_state.h"
#include "master/core/output_totals.h"
#include "master/core/records.h"
#include "master/core/stored_output.h"
#include "master/sched/decision.h"
#include "master/sched/event.h"

namespace mr::master {

// A replica of an output that readers may use.
struct ReplicaView {
  Replica replica;
  Manifest manifest;
  StoredOutput extra;
};

struct TaskView {
  bool committed = false;  // at least once, and a takeover kept the output
  uint32_t generation = 1;
  uint32_t winner = 0;  // number of the attempt that committed it last
  WorkerId worker;      // of that attempt
  StoredOutput output;  // of the commit
  Manifest manifest;
  std::vector<ReplicaView> replicas;
};

struct StageView {
  bool planned = false;
  std::vector<TaskView> tasks;
  uint32_t committed = 0;                         // tasks with TaskView::committed
  uint64_t output_bytes = 0, output_records = 0;  // sums of their manifests
};

struct JobProjection {
  JobId id;
  JobSpec spec;  // with the priority and the deadline that users have set since
  std::string spec_bytes, submission_id;
  std::string owner = kNoOwner;  // the subject that submitted it
  uint64_t wall_ms = 0;          // of the submission
  JobPlan plan;
  // kPending while the job has not ended (see ShownState), then how it ended.
  JobState state = JobState::kPending;
  bool told = false;         // its end is on disk, and may be reported
  bool brief = false;        // tasks, attempts and reasons are gone; `totals` sums up its outputs
  bool rolled_back = false;  // committed tasks had to run again, since an input changed its content
  OutputTotals totals;
  std::string error, publish_error;  // for people
  Instant submitted, ended;
  uint64_t submit_sequence = 0;
  std::vector<StageView> stages;

  // Returns the files of all final stages, by name.
  std::vector<FileOutput> Outputs() const;
  // Returns the task, or null.
  TaskView* Find(const TaskId& task);
  const TaskView* Find(const TaskId& task) const { return const_cast<JobProjection*>(this)->Find(task); }
  // Returns the replica, or null.
  const ReplicaView* Find(const Replica& replica) const;
  bool in_dfs() const { return spec.output_uri.starts_with("dfs://"); }
  TaskLetter letter(uint32_t stage) const { return spec.stages[stage].letter(); }
};

// The changes of one step to where outputs can be read, for the directories that workers have.
struct ReplicaChange {
  std::vector<Replica> added, removed;
  FinishedExtra output;     // the report of the output that was committed
  std::vector<HotKey> hot;  // the hottest keys of it
};

// Returns the projection of a job that this record submits.
// Requires: the record passed MasterCore::Check.
JobProjection SubmittedJob(const EventRecord& record, uint64_t sequence);

// Applies an event to its job. Each does nothing where the event does not change this job.
void Apply(const sched::StagePlanned& event, JobProjection* job);
void Apply(const sched::JobTakenOver& event, JobProjection* job);
void Apply(const sched::JobSet& event, JobProjection* job);

// Applies a promise. output: of the report that it accepts.
void Apply(const sched::Accept& accept, StoredOutput output, JobProjection* job, ReplicaChange* change);
// Returns false where the job does not have the replica.
bool Apply(const sched::DropReplica& drop, JobProjection* job, ReplicaChange* change);
void Apply(const sched::CommitJob& commit, Instant at, JobProjection* job);
void Apply(const sched::FailJob& fail, Instant at, JobProjection* job);
void Apply(const sched::MarkIndeterminate& mark, JobProjection* job);

// Adds a replica that a worker made on request. Returns false where the job has it, or no such output.
bool AddReplica(const Replica& replica, JobProjection* job, ReplicaChange* change);

}  // namespace mr::master
