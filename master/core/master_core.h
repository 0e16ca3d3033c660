// The whole master as a deterministic function: its records go in, and what is to be done comes out. It owns the
// scheduler, the block store's namespace, the workers that the journal knows, and what people see of jobs. It reads no
// clock, does no I/O, starts no thread and does not log. The live master, recovery, snapshots, `mrsim replay`, the
// simulator's swarm and the tests run this same code, so that a record becomes state in one place.
//
// Use by a host. One thread owns it:
//
//   a request ->  auto record = core.Prepare...(request)        const; all validation is here
//                 not ok: answer the status.
//                 auto applied = core.Apply(&record, moment)    completes the record with its outcome; never fails
//                 journal.Append(EncodeRecord(record))          in this order: a record's number is the next one
//                 carry out applied.decisions, send applied.replicas and, once the record is durable, applied.blocks
//                 for each of applied.follow_ups: core.Prepare(it), and if there is a record, the same again
//                 after the record is durable: core.NoteDurable(its number); answer.
//
//   start         for each record read: DecodeRecord, core.Check(record), core.Apply, applied.differs, NoteDurable;
//                 its follow-ups are records of the journal themselves. Then the records of the new epoch.
//
// Volatile inputs are facts that no record keeps: records of the block store that are not hard, EventRecord::beside,
// and the fields of WorkerView that the host sets (sessions, heartbeats). Whatever a decision takes from them stands in
// that decision's record, so that a replay comes to the same.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "dfs/meta/namespace.h"
#include "master/core/attempt_reader.h"
#include "master/core/bad_records.h"
#include "master/core/epochs.h"
#include "master/core/fat_partitions.h"
#include "master/core/jobs.h"
#include "master/core/loss.h"
#include "master/core/open_work.h"
#include "master/core/output_commit.h"
#include "master/core/owner_limits.h"
#include "master/core/partition_sizes.h"
#include "master/core/random_operators.h"
#include "master/core/record_size.h"
#include "master/core/records.h"
#include "master/core/skew.h"
#include "master/core/workers.h"
#include "master/sched/defaults.h"
#include "master/sched/scheduler.h"

namespace mr::master {

// The number of a record in the journal, and the wall clock, which people see.
struct Moment {
  uint64_t sequence = 0;
  uint64_t wall_ms = 0;
};

// An event that a record makes necessary. Prepare makes it when its turn comes: an earlier one may change it.
struct FollowUp {
  enum class Kind : uint8_t { kPlanStage, kOperators };
  Kind kind = Kind::kPlanStage;
  StageId stage;  // kOperators: its job
};

// The result of a record, for the host to carry out.
struct Applied {
  std::vector<sched::Decision> decisions;
  ReplicaChange replicas;  // of outputs: for the directories that workers have
  std::vector<dfs::Effect> blocks;
  std::vector<FollowUp> follow_ups;
  // The record had an outcome, and this build came to another one: what differs. "": nothing.
  std::string differs;
};

// An attempt, and the worker that reports it.
struct Reporter {
  AttemptId attempt;
  WorkerId worker;
  Incarnation incarnation = 0;
  bool Owns(const sched::Attempt& a) const { return a.worker == worker && a.incarnation == incarnation; }
};

// Returns the verdict on the attempt's report that it has finished, from the decisions that it led to.
Verdict VerdictOf(const AttemptId& attempt, const std::vector<sched::Decision>& decisions);

// A worker's registration; its info and its name are checked.
struct Registration {
  sched::WorkerRegistered info;  // worker is filled in by the core
  WorkerExtra extra;
  std::vector<BlockRef> blocks;
  bool leaving = false;
};

// The answer to a worker that has registered, about the attempts and outputs that it reported.
struct Greeting {
  std::vector<AttemptId> go_on, kill;  // of those that it runs
  std::set<JobId> forgotten;           // their outputs may go
  std::set<JobId> holds;               // jobs with outputs there that may be read
  std::vector<Replica> replicate;      // replicas that it is to make
};

// kInvalidArgument: no queue may have this name.
Status CheckQueueName(const std::string& queue);

class MasterCore {
 public:
  struct Config {
    std::string directory;                                  // the master's --data, for texts
    std::string policies = sched::kPlainPolicies;           // the cluster's list
    uint32_t scheduler_version = sched::kSchedulerVersion;  // tests say another one
    uint64_t block_bytes = 64ull << 20;
    uint32_t replication = 3;
    size_t ended_jobs = kEndedJobs;  // that are kept
    uint64_t fat_partition_bytes = kFatBytes;
    size_t record_bytes = kRecordBytes;  // of the journal, at most, for a job's plan or its commit
    OwnerLimits owner;
  };
  // Reads a job's spec from its wire form. The core needs it for snapshots alone; records bring their specs.
  using ReadSpecFn = std::function<Result<JobSpec>(std::string_view bytes)>;

  MasterCore(Config config, ReadSpecFn read_spec);
  ~MasterCore();
  MasterCore(const MasterCore&) = delete;
  MasterCore& operator=(const MasterCore&) = delete;

  // ---- Records (master_core.cc)
  // Applies the record and completes an event's record with its outcome. With an outcome it is one that was read: then
  // the outcome is compared, and taken as it is where another scheduler version wrote it. Never fails.
  // Requires: a record that was read passed Check; moment.sequence rises from one record of the journal to the next.
  Applied Apply(Record* record, const Moment& moment);
  // Returns whether a record that was read can be applied to this state. Errors: kCorrupted; kRejected: only another
  // release can read it.
  Status Check(const Record& record) const;
  // Returns whether the newest epoch is of another scheduler version. Its soft records are passed over: that build
  // decided otherwise than this one.
  bool Foreign() const { return foreign_; }
  // Counts an event that is passed over.
  void PassOver() { ++events_; }
  // The journal is durable up to this record. Returns the jobs whose end may be reported from here on.
  std::vector<JobId> NoteDurable(uint64_t sequence);
  // The job keeps nothing beside its output any more.
  void Cleaned(JobId job) { open_.uncleaned.erase(job); }
  // Shortens and forgets ended jobs. Requires: nothing refers to jobs.
  void Shrink() {
    jobs_.Shrink([this](JobId id) { return attempts().Live(id) > 0; });
  }

  // ---- Follow-ups (prepare.cc)
  // Returns the event that answers it, or nothing where there is nothing to answer, or not yet.
  std::optional<sched::Event> Prepare(const FollowUp& follow_up) const;
  // Returns those that records up to here have left, for a start and for stages that had to wait.
  std::vector<FollowUp> Unanswered() const;
  std::vector<FollowUp> Unanswered(JobId job) const;
  // Returns the timer that is due, or nothing.
  std::optional<sched::TimerDue> DueTimer(Instant now) const;
  std::optional<Instant> NextTimer() const;

  // ---- Requests (prepare.cc). at: the stamp of the event.
  // Returns the events with which this scheduler takes over what another version had under way: workers and queues
  // that it does not know, and jobs, from their committed outputs. notes: for the log.
  std::vector<sched::Event> PrepareTakeOver(Instant at, std::vector<std::string>* notes) const;
  // Returns the event of a submission. A job that the cluster's list cannot serve as it wished keeps its own policies.
  sched::JobSubmitted SubmittedOf(JobId id, const JobSpec& spec) const;
  // A submission whose plan was made; its files and limits are checked. Errors: kRejected: the record is too long.
  struct Submission {
    std::shared_ptr<const JobSpec> spec;
    SubmitExtra extra;  // spec: in wire form; owner: the subject of the identity that submits
  };
  Result<EventRecord> PrepareSubmit(Submission submission, Instant at) const;
  // Returns why the caller may not submit one more job, or Ok. planning: submissions of the caller that are not
  // accepted yet, without this one. Errors: kRejected: a limit of owners (Config::owner).
  Status CheckOwner(const Caller& caller, size_t planning) const;
  // Returns why the caller may not submit a job that uses the network, or Ok. Errors: kNotAllowed
  // (OwnerLimits::network).
  Status CheckNetwork(const Caller& caller, const JobSpec& spec) const;
  // Errors: kNotFound, also where the job does not exist for the caller; kRejected: the job has ended.
  Result<sched::Event> PrepareKill(JobId job, const Caller& caller, const std::string& why) const;
  // The wished settings of a job; absent ones stay unchanged. A deadline of 0 is none. Errors: as PrepareKill.
  struct JobWish {
    std::optional<int32_t> priority;
    std::optional<Duration> deadline;
  };
  Result<sched::Event> PrepareJobSet(JobId job, const Caller& caller, const JobWish& wish) const;
  // The wished settings of a queue; absent ones stay unchanged. Errors: kInvalidArgument.
  struct QueueWish {
    std::string queue;
    std::optional<double> weight;
    std::optional<uint32_t> min_share, max_share;
  };
  Result<sched::Event> PrepareQueue(const QueueWish& wish) const;
  // Returns the answer to the report that an attempt has finished. Where the attempt passes the job's limit of bad
  // records, the event is its failure.
  struct FinishedAnswer {
    std::optional<EventRecord> record;  // nothing: a repeat, whose answer is the same again
    Verdict verdict = Verdict::kStale;  // of a repeat, and of a failure
    uint64_t sequence = 0;              // of the record that the repeat's answer waits for
    std::string excess;                 // not empty: why the job fails
  };
  FinishedAnswer PrepareFinished(const Reporter& from, report::Finished finished, Instant at) const;
  // Returns whether the report is the last of a job whose output is in the block store.
  bool WouldCommit(const Reporter& from) const;
  // Returns why that report must wait: a block of the output that no live worker has. Nothing: it need not wait.
  std::optional<LostBlock> WhyHeld(const Reporter& from, const report::Finished& finished) const;

  // ---- Workers (prepare_workers.cc). Records in the order in which they are applied.
  // lived: the time on the axis of leases. Errors: kRejected: another process has the name, or an operator excluded it.
  struct RegistrationRecords {
    std::optional<WorkerNamed> named;  // of a name that is new
    EventRecord event;
    dfs::Record joined;
    std::optional<EventRecord> leaving;  // of a worker that an operator drains: its outputs are moved
    WorkerId worker() const { return std::get<sched::WorkerRegistered>(event.stamped.event).worker; }
  };
  Result<RegistrationRecords> PrepareRegister(Registration in, Instant at, Instant lived) const;
  // Behind its records. inventory, running: as it registered.
  Greeting GreetingOf(WorkerId worker, const std::vector<Replica>& inventory,
                      const std::vector<AttemptId>& running) const;
  // Requires: the worker is known.
  std::vector<Record> PrepareLost(WorkerId worker, const std::string& why, Instant at) const;
  // Errors of both: kNotFound.
  Result<std::vector<Record>> PrepareDrain(WorkerId worker, bool on, Instant at) const;
  Result<std::vector<Record>> PrepareExclude(WorkerId worker, bool on, Instant at) const;
  // force: also where blocks may have their last replica there, and although it is excluded, which then ends. Errors:
  // kNotFound; kRejected: it is alive, has last replicas, or is excluded. Cost: a walk over all blocks, and one
  // more when the records are applied: 0.36 s together for a million blocks (measured; the loss of a worker with a
  // tenth of the replicas takes 0.5 s).
  Result<std::vector<Record>> PrepareForget(WorkerId worker, bool force, Instant at) const;
  // The worker's memory damaged an output. One in which this happens often gets nothing new. Requires: it is known.
  std::vector<Record> PrepareWrongOutput(WorkerId worker, Instant at) const;

  // ---- Snapshots (image.cc)
  // Writes the whole state in parts, each with its kind.
  void Save(const std::function<void(RecordKind, std::string)>& part) const;
  // Restores a fresh core: each part in its order. Errors: kCorrupted.
  Status Restore(RecordKind kind, std::string_view part, uint64_t sequence);

  // Returns a digest of the state that records alone determine: scheduler, namespace, workers, and what people see of
  // jobs. Equal after a live run, a recovery, a snapshot with its tail, and a replay. Cost: a walk over all of it.
  uint64_t Digest() const;

  // ---- Attempts and requested replicas, from the scheduler's state
  AttemptReader attempts() const { return {scheduler_->state(), jobs_}; }
  // Returns whether the worker was asked for a replica of this output and has not answered.
  bool Replicating(WorkerId worker, const OutputId& output) const {
    return Requested(scheduler_->state(), worker, output);
  }

  // ---- State. The host sets the volatile fields of workers, and no others.
  const Jobs& jobs() const { return jobs_; }
  WorkerTable& workers() { return workers_; }
  const WorkerTable& workers() const { return workers_; }
  const dfs::Namespace& files() const { return *files_; }
  const sched::Scheduler& scheduler() const { return *scheduler_; }
  const OpenWork& open() const { return open_; }
  const Epochs& epochs() const { return epochs_; }
  const Loss& loss() const { return loss_; }
  const Config& config() const { return config_; }
  uint32_t epoch() const { return epoch_; }
  uint64_t events() const { return events_; }  // of this journal, all epochs
  Instant last_stamp() const { return last_stamp_; }
  Duration promised_wait() const { return promised_wait_; }
  // Returns how long ago, by the wall clock (ms since 1970), the newest stamp was given: the time for which no master
  // has run. The newest job's submission relates stamps to the wall clock. From 0, also where no job is known or the
  // wall clock was set back, to 30 days.
  Duration TimeAway(uint64_t wall_ms) const;
  uint64_t commit_looks() const { return commit_looks_; }  // blocks that commits have looked at; for tests

 private:
  struct Visitor;
  void ApplyEvent(EventRecord* record, const Moment& moment, Applied* applied);
  Status CheckEvent(const EventRecord& record) const;
  bool HasTaskOf(const sched::Decision& promise, const sched::Event& event) const;
  std::string DiffersFrom(const EventRecord& record, const std::vector<sched::Decision>& decisions) const;
  void NoteWorkers(const EventRecord& record);
  void NoteEnds(const EventRecord& record, const Moment& moment, Applied* applied);
  void NoteCommitted(const EventRecord& record, const std::vector<sched::Decision>& decisions, Applied* applied);
  void NoteOpen(const EventRecord& record, Applied* applied);
  void NoteOperators(const std::vector<sched::Decision>& decisions);
  void BeginEpoch(const EpochStarted& epoch, uint64_t sequence);
  void TakeLoss(const JournalLoss& loss, uint64_t sequence);
  void AwaitAlive();
  std::string Head(bool hard) const;
  Status RestoreSlices();
  Status RestoreHead(std::string_view part, uint64_t sequence);
  sched::JobTakenOver TakenOver(const JobView& job) const;
  std::vector<Replica> ReplicasToMake(WorkerId of) const;
  std::optional<uint64_t> CommittedBy(const Reporter& from) const;
  bool ReadOtherContent(const AttemptId& attempt, const std::vector<Consumed>& consumed) const;
  std::string ExcessOf(const Reporter& from, const report::Finished& finished, const FinishedExtra& extra) const;

  const Config config_;
  const ReadSpecFn read_spec_;
  std::unique_ptr<sched::Scheduler> scheduler_;
  std::unique_ptr<dfs::Namespace> files_;
  Jobs jobs_;
  WorkerTable workers_;
  OpenWork open_;
  Epochs epochs_;
  Loss loss_;
  RandomOperators random_operators_;
  mutable BadRecords bad_records_;  // a cache of the jobs, which Prepare fills; the samples are volatile
  PartitionSizes partition_sizes_;  // volatile
  SkewTable skew_;
  std::map<std::string, sched::QueueSet> queues_;  // as operators set them, under whatever build
  // The newest epoch is of another kSchedulerVersion: the scheduler knows nothing, the projections what promises say.
  bool foreign_ = false;
  bool scheduler_restored_ = false;
  uint32_t epoch_ = 0, next_job_ = 1;
  uint64_t events_ = 0;
  Instant last_stamp_;
  Duration promised_wait_;  // the newest LeaseSet
  mutable uint64_t commit_looks_ = 0;
};

}  // namespace mr::master
