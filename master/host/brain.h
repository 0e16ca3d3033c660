// Drives the master core: stamps what arrives, appends its records to the journal and carries out what they come to.
//
// Everything here runs on the master's thread (loop.h) and never blocks. Commands to workers leave at the end of the
// turn, without waiting for a disk. An acknowledgement waits in the outbox until its record is durable. Files: brain.cc
// (records), recovery.cc, jobs.cc, reports.cc, dispatch.cc (commands), files.cc (block store), commit_wait.cc,
// status.cc and history.cc (reading), learn.cc (profiles of jobs), snapshot.cc.
#pragma once

#include <capnp/message.h>

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/base/lived_clock.h"
#include "common/exec/loop.h"
#include "common/io/clock.h"
#include "common/io/retention.h"
#include "common/model/status.h"
#include "dfs/meta/service.h"
#include "master/core/master_core.h"
#include "master/host/outlets.h"
#include "master/host/planner.h"
#include "master/host/publisher.h"
#include "master/host/worker_calls.h"
#include "master/journal/journal.h"
#include "master/journal/outbox.h"
#include "master/sched/policies/jockey/admission.h"
#include "schema/client.capnp.h"
#include "schema/control.capnp.h"

namespace mr::master {

class ProfileStore;
struct DrainReport;
struct Explained;
struct Forecast;
struct PlanContext;

// Blocks that one turn of the master's thread counts: about a millisecond.
inline constexpr size_t kCountSlice = 4096;
// Default of --open_jobs. A guess: at about 30 KiB each, far below the memory of any master.
inline constexpr size_t kOpenJobs = 10'000;

class Brain {
 public:
  struct Options {
    std::string directory;
    uint64_t cluster_id = 0;
    std::string policies = sched::kPlainPolicies;
    uint64_t seed = 1;
    uint64_t block_bytes = 64ull << 20;
    uint32_t replication = 3;
    uint64_t snapshot_bytes = 64ull << 20;  // of journal, after which a snapshot is made
    size_t ended_jobs = kEndedJobs;         // that the job table keeps
    uint64_t fat_partition_bytes = kFatBytes;
    uint32_t scheduler_version = sched::kSchedulerVersion;          // tests say another one
    std::shared_ptr<ProfileStore> profiles;                         // of earlier runs; null: none are kept
    Duration effects_lease = kEffectsLease;                         // of attempts with side effects
    size_t open_jobs = kOpenJobs;                                   // planned or unfinished; more are refused
    RetentionLimits libraries = {8ull << 30, Seconds(30 * 86400)};  // operator libraries and side files
    Duration staging_age = Seconds(600);   // since the end of its job, after which what is left of its staging goes
    Duration housekeeping = Seconds(60);   // between two looks at both
    bool cluster_known = false;            // it has been before: that there is no journal is a loss
    std::optional<uint64_t> accept_loss;   // the number that a refused start named
    size_t record_bytes = kRecordBytes;    // of the journal, at most, for a job's plan or its commit; tests say less
    std::function<Instant()> clock = Now;  // of the host; a test has its own
  };
  Brain(Options options, Loop& loop, Outlets& outlets);
  Duration effects_lease() const { return options_.effects_lease; }
  ~Brain();

  // Opens and replays the journal, writes the new epoch, brings everything up to date. Before the
  // loop runs; blocks.
  Status Recover();
  // End of a turn: sends what it gathered.
  void Flush();

  // ---- Workers (reports.cc)
  void Register(uint64_t session, RegisterIn in, std::function<void(RegisterOut)> reply);
  // The answer is on its way: commands may follow it, and a worker knows its id when they come.
  void RegisterAnswered(uint64_t session);
  void SessionEnded(uint64_t session);
  void HeartbeatConnected(Incarnation incarnation, bool connected);
  // loop_silent: for how long the worker's control loop has not moved. room: of its disk.
  bool Beat(WorkerId worker, Incarnation incarnation, Duration loop_silent, const DiskRoom& room = {});
  // Each tick: where no worker has had room for a while, a job that waits for some fails.
  void FailWithoutRoom();
  // Likewise: reports of last tasks that waited for replicas of the job's output are fed (commit_wait.cc).
  void FeedHeldReports();
  // reply: at the end of this turn.
  void Report(uint64_t session, WorkerId worker, Incarnation incarnation, std::vector<NumberedReport> reports,
              std::function<void(ReportOut)> reply);
  void Progress(sched::AttemptProgress progress);
  // Answered when it is in the journal: it outlives this master, and this life of the worker.
  void Drain(WorkerId worker, bool on, std::function<void(Status)> reply);
  // Reports what a worker that is drained waits for (drain.h). Errors: kNotFound.
  Result<DrainReport> DrainOf(WorkerId worker);
  // Answered like Drain. on: the worker is lost at once, and may not register until it is included again.
  void Exclude(WorkerId worker, bool on, std::function<void(Status)> reply);
  using QueueWish = MasterCore::QueueWish;
  // Errors: kInvalidArgument: nothing changed.
  void SetQueue(const QueueWish& wish, std::function<void(Status)> reply);
  // The worker ends by itself soon; until it is lost it gets nothing new.
  void Leaving(WorkerId worker, Incarnation incarnation);

  // ---- Jobs (jobs.cc)
  using SubmitReply = std::function<void(Status, JobId)>;
  void Submit(std::string spec_bytes, JobSpec spec, const std::string& submission_id, SubmitReply reply);
  void KillJob(JobId job, const std::string& why, std::function<void(Status)> reply);
  // Replies with the plan and the answer that a submit would get (explain.cc). Does not need the operator library.
  void ExplainJob(const JobSpec& spec, std::function<void(Explained)> reply);
  // The sizes of the files behind each file:// and dfs:// URI; nothing for one that a submit could not read.
  using InputSizes = std::vector<std::optional<InputSize>>;
  void MeasureInputs(const std::vector<std::string>& uris, std::function<void(InputSizes)> reply);

  // ---- Deadlines (deadlines.cc)
  using JobWish = MasterCore::JobWish;
  // Changes the job. The reply's text warns of a deadline that will probably be missed, with the earliest likely one;
  // "" where there is no warning. Answered when the change is in the journal. With a deadline, where the list steers by
  // them, it also waits for predictions of this and other running jobs and for workers that may come back after a
  // restart.
  void SetJob(JobId job, const JobWish& wish, std::function<void(Status, std::string)> reply);
  // Nothing if it has neither a deadline nor a utility.
  std::optional<DeadlineStatus> DeadlineOf(const JobView& job) const;

  // Removes the staging of all jobs that have not ended or whose end is unreported, and what is left of that of failed
  // ones. Blocks. Requires: no other thread uses the brain any more.
  void ClearAllStaging() const;
  void LibraryStored(const std::string& sha256) { libraries_.insert(sha256); }
  bool LibraryKnown(const std::string& sha256) const { return libraries_.contains(sha256); }

  // ---- Block store (files.cc)
  void FsMutate(const dfs::FsHost::PrepareFn& prepare, const std::function<void(const dfs::Namespace&)>& then,
                std::function<void(Status)> reply);
  // Reports of a worker about its replicas. The incarnation is checked against the present one.
  void BlocksReceived(WorkerId worker, Incarnation incarnation, const std::vector<BlockRef>& blocks);
  void BlocksSuspect(WorkerId worker, Incarnation incarnation, const std::vector<DamagedBlock>& blocks);
  // The worker could not copy a block to another worker as requested.
  void BlockNotCopied(WorkerId worker, Incarnation incarnation, const BlockRef& block, bool source_failed,
                      const std::string& why);
  // why: empty where the disk works again.
  void DiskFailed(WorkerId worker, Incarnation incarnation, const std::string& why);
  const dfs::Namespace& files() const { return core_.files(); }
  // Blocks that commits have looked at since the start; for tests.
  uint64_t commit_looks() const { return core_.commit_looks(); }
  // Exact up to kCountSlice blocks; above that of the last walk, which goes on in slices between other work.
  dfs::RepairCounts BlockCounts() const;

  // ---- Watching (status.cc)
  Status Watch(uint64_t watcher, JobId job);
  void Pushed(uint64_t watcher);
  void Unwatch(uint64_t watcher);

  // ---- Reading (status.cc)
  JobStatus StatusOf(const JobView& job) const;
  // Nothing if none of its tasks ran as clones and none of its readers got a bind.
  std::optional<CloneStatus> ClonesOf(const JobView& job) const;
  // Nothing if no policy steered it by a deadline.
  std::optional<SteeringStatus> SteeringOf(const JobView& job) const;
  // Pages of lists: `from` and `after` as in client.capnp.
  void FillJobs(uint64_t from, rpc::MasterForClient::JobsResults::Builder out);
  Status FillTasks(JobId job, uint64_t from, rpc::MasterForClient::TasksResults::Builder out);
  Status FillAttempts(JobId job, const AttemptId& after, rpc::MasterForClient::AttemptsResults::Builder out);
  // from: the page's first decision.
  Status FillDecisions(JobId job, uint32_t from, rpc::MasterForClient::DecisionsResults::Builder out);
  // Fills in the launch that the attempt's worker received. Errors: kNotFound.
  Status FillLaunched(const AttemptId& attempt, rpc::MasterForClient::LaunchedResults::Builder out);
  Status FillHistory(JobId job, uint32_t from, rpc::MasterForClient::HistoryResults::Builder out);
  Status FillCounters(JobId job, uint64_t from, rpc::MasterForClient::CountersResults::Builder out);
  void FillWorkers(uint64_t from, rpc::MasterForClient::WorkersResults::Builder out);
  void FillQueues(rpc::MasterForClient::QueuesResults::Builder out);
  Result<std::vector<std::string>> Why(const std::string& subject);
  // The name of a task or an attempt without its stage, with it; any other as it is.
  Result<std::string> WithStage(const std::string& subject);
  // Returns why tasks have no slot, for each stage of a job that has such tasks.
  std::vector<std::string> WhyPending(const JobView& job) const;
  // Why no attempt of this task is launched although none is live: an earlier one may still run (worker/adr/0003).
  std::vector<std::string> WhyUnended(const JobView& job, const TaskId& task) const;
  // Attempts of a running job that have made no progress for a good part of its --task-timeout, in words; at most 20.
  std::vector<std::pair<AttemptId, std::string>> Hung(const JobView& job) const;

  JobTable& jobs() { return core_.jobs(); }
  WorkerTable& workers() { return core_.workers(); }
  const sched::Scheduler& scheduler() const { return core_.scheduler(); }
  const MasterCore& core() const { return core_; }
  const journal::Journal& journal() const { return *journal_; }
  const Options& options() const { return options_; }
  uint32_t epoch() const { return epoch_; }  // any thread

  // ---- Lost records (safe_mode.cc)
  // Records are known to be lost, and no operator has accepted that. Any thread.
  bool InLossMode() const { return loss_open_; }
  // The last loss and the choices, for people; "" where there was none.
  std::string LossWords() const;
  // Ends the safe mode; answered when that is in the journal.
  void AcceptLoss(std::function<void(Status)> reply);
  // Returns all but disk_bytes and free_bytes.
  JournalStatus JournalNow() const;
  // Returns the durable record that workers may be sent.
  Durable DurableNow() const;
  Instant Stamp();
  // Now, on the stamps' axis; stamps nothing.
  Instant Present() const { return stamp_base_ + (LivedBy() - stamp_start_); }
  // The clock, less the time in which this master stood still: leases are measured on it.
  Instant Lived();
  // Like Lived(), but const: a stall that Lived() has not noticed yet counts as lived.
  Instant LivedBy() const { return Instant{options_.clock().ns - lived_.stood_still().ns}; }

 private:
  // A record's number, and what the core decided by it.
  struct Fed {
    uint64_t sequence = 0;
    std::vector<sched::Decision> decisions;
  };
  // One record's whole way, and that of its follow-ups.
  Fed Feed(sched::Event event, std::string extra = {});
  Fed Feed(Record record);
  // Returns the number of the last one that the journal keeps.
  uint64_t FeedAll(std::vector<Record> records);
  Fed FeedOne(Record record, std::vector<FollowUp>* follow_ups);
  void FollowUpOn(std::vector<FollowUp> follow_ups);
  void FireTimers();
  void ArmTimer();
  // Effects of decisions, in order. A restart holds them back until all of its state stands (BeginEpoch).
  void CarryOut(const sched::Decision& decision, uint64_t sequence);
  void CarryOutHeld();
  uint64_t Append(const Record& record, const std::vector<sched::Decision>& decisions);
  // Records up to this one are durable.
  void Release(uint64_t sequence);

  // recovery.cc
  void BeginEpoch();
  void SetEffectsWait(Duration promised);
  void TakeOver();

  // snapshot.cc
  void MakeSnapshot();

  // deadlines.cc, explain.cc
  bool Steers() const;  // a policy of the list steers jobs by their deadlines
  bool WantsForecast(const JobSpec& spec) const;
  // then: on this thread, when the background has come to it.
  void ForetellOf(const JobSpec& spec, const JobPlan& plan, std::function<void(Result<Forecast>)> then);
  // A running job that has no prediction and should is given one; then: behind it, or at once.
  void ForetellRunning(JobId job, std::function<void()> then = nullptr);
  void TakeForecast(JobId job, Result<Forecast> forecast);
  // Behind predictions of running jobs that are under way, and the return or the loss of workers that are away after
  // a restart: no slots are promised that these may need, and none are missed that come back. Or at once.
  void WhenSettled(std::function<void()> then);
  bool Settled() const;
  void Settle();
  std::string LateWarning(JobId job);
  void Foretold(const std::string& key, Result<Forecast> forecast);
  void AdmitForetold(const std::string& key);
  void AcceptForetold(const std::string& key);
  void Locate(Explained* out) const;
  void AddForecast(const JobSpec& spec, Result<Forecast> forecast, Explained* out);

  // disk_room.cc
  void NoteRoom(WorkerView* worker, const DiskRoom& room);
  static std::string DescribeRoom(const WorkerView& worker);
  // Empty where a worker takes attempts, or may do so soon (it stalls, or is expected back), or where other things than
  // room keep all from it. now: lived.
  std::string WhyNoRoom(Instant now) const;
  // Returns the bytes of committed outputs that other stages of the job read.
  uint64_t ShuffleBytes(const JobView& job) const;

  // drain_status.cc
  const dfs::DrainBlocks& BlocksKept(WorkerId worker);

  // safe_mode.cc
  // Whether a worker was sent a record that this journal lacks; if so, safe mode begins.
  void NoteSeen(const std::string& worker, const Durable& seen);
  void RaiseIds();
  // In safe mode: why nothing new is taken.
  Status CheckLoss() const { return core_.loss().Check(options_.directory); }

  // While the journal's disk is full: why nothing new is taken.
  Status CheckRoom() const;
  // jobs.cc
  // Returns the reasons to refuse a submit, the first one first. Files are checked with the plan.
  std::vector<Status> Refusals(const JobSpec& spec);
  // kRejected: an attempt would need more memory than any worker has that is registered or may come back.
  Status CheckMemory(const JobSpec& spec);
  PlanContext ContextOf(const JobSpec& spec) const;
  void Accept(const std::string& key, std::optional<sched::Prediction> prediction);
  void Planned(const std::string& key, Result<JobPlan> plan);
  // The list that serves it; empty: the cluster's.
  Result<std::vector<std::string>> PoliciesOf(const JobSpec& spec) const;
  void Publish(JobId job, int attempt);
  void Published(JobId job, int attempt, const Status& status);
  void CleanUp(JobId job);
  void JobDone(JobId job);

  // housekeeping.cc
  void KeepHouse();
  void SweepStaging();
  void TrimLibraries();
  // SHA-256 of libraries and side files that jobs name which are planned or have not ended.
  std::set<std::string> FilesInUse() const;

  // learn.cc: what its run taught goes to disk, on a pool thread.
  void Learn(const JobView& job);

  // reports.cc
  struct ReportFeeder;
  uint64_t FeedReport(WorkerId id, Incarnation incarnation, mr::Report report, Verdict* verdict);
  void ReplicaNotMade(const Replica& from, WorkerId to, const std::string& why);
  void Suspect(const Replica& replica, bool verify);
  void LookedAt(const Replica& replica, const Looked& looked);
  // Its loop has not moved for a while, or this master did not run. A missing answer says nothing of its outputs then.
  bool StandsStill(const WorkerView& worker);
  // The worker's memory damaged an output that it made; one in which this happens often gets nothing new.
  void NoteWrongOutput(WorkerId worker);
  void Lose(WorkerId worker, const std::string& why);
  // fn runs when so much has been lived; on the thread.
  void AtLived(Instant at, std::function<void()> fn);
  // silent: for how long its control loop has not moved. Where it stalls it gets nothing new until it moves again.
  void NoteLoop(WorkerView* worker, Duration silent);
  void CheckLeases();
  void Greet(WorkerView* worker, const Greeting& greeting);
  void Tick();  // CheckLeases and what else waits for time, each 250 ms

  // dispatch.cc
  // make: called when the message is filled, with what is known then.
  using MakeCommand = std::function<Command()>;
  void Send(WorkerView* worker, size_t bytes, MakeCommand make);
  void GiveVerdict(WorkerId worker, Incarnation incarnation, uint64_t report, Verdict verdict);
  void SendLaunch(const sched::Launch& launch);
  bool HasEffects(const sched::Launch& launch) const;
  LaunchCommand LaunchOf(const JobView& job, const sched::Launch& launch) const;
  void SendStage(WorkerView* worker, const JobView& job, uint32_t stage);
  void SendDirectory(WorkerView* worker, JobView* job, uint32_t stage);
  void SendDelta(const std::vector<Replica>& added, const std::vector<Replica>& removed);
  ReplicaPtr LocationOf(const ReplicaView& view);
  void SendReplicate(const Replica& from, WorkerId to);
  void EndJobAt(WorkerView* worker, JobId job);

  // files.cc
  uint64_t ApplyDfs(dfs::Record record);
  void Dispatch(std::vector<dfs::Effect> effects, uint64_t sequence);
  void TickDfs();
  void CountBlocks();
  Result<std::vector<InputFile>> DfsFiles(const std::string& uri) const;
  // Keeps the job's inputs in the block store unchanged until ReleasePin. Returns the pin; 0 where there is nothing to
  // pin.
  uint64_t PinInputs(const PlanContext& context);
  void ReleasePin(uint64_t pin);
  // Those that no job which has not ended holds.
  void ReleaseStrayPins();
  Status CheckDfsOutput(const JobSpec& spec);
  // commit_wait.cc
  // True: the report would commit its job over such a block. It is kept, and fed when all can be read or the wait is
  // over.
  bool HoldForReplicas(WorkerId id, Incarnation incarnation, const NumberedReport& sent);
  struct HeldReport;
  bool StillHeld(HeldReport* held);

  // status.cc
  void MarkChanged(JobId job);
  void PushDue();

  Options options_;
  Loop& loop_;
  Outlets& outlets_;
  MasterCore core_;
  std::unique_ptr<journal::Journal> journal_;
  journal::Outbox outbox_;
  std::set<std::string> libraries_;
  bool trimming_ = false;                                                 // a look at the libraries is under way
  std::map<WorkerId, std::pair<Instant, dfs::DrainBlocks>> blocks_kept_;  // and when they were looked at
  dfs::RepairCounts counted_, counting_;  // the last walk over all blocks; the one under way
  BlockId count_from_;                    // not valid: none is under way
  uint64_t dfs_sequence_ = 0;             // of the last hard record of the block store
  bool journal_full_ = false;             // its disk is: nothing new is taken

  std::atomic<uint32_t> epoch_{0};
  uint32_t first_epoch_ = 0;            // of this process; a loss may raise epoch_
  std::atomic<bool> loss_open_{false};  // core_.loss().open(), for other threads
  bool replaying_ = true;
  bool holds_effects_ = true;                                       // until the end of BeginEpoch
  std::vector<std::pair<sched::Decision, uint64_t>> held_effects_;  // with the sequence of their record
  uint64_t closed_ = 0, snapshot_at_ = 0;  // sequences: of the last closed segment's end, of the snapshot
  bool making_snapshot_ = false;
  LivedClock lived_;
  Instant judge_from_;     // on the lived axis: what had been waiting for this master to move on has been heard by then
  Instant no_room_until_;  // lived: when a job fails, if no worker has room until then; 0: one has
  // From when (lived) on a shorter one holds: until then children live on the lease of the master before this one.
  std::optional<std::pair<Instant, Duration>> shorter_wait_;
  Instant stamp_base_{1'000'000'000}, stamp_start_, last_stamp_;  // stamp_start_: lived

  // Submissions being planned: by submission id, or by a name of their own.
  struct Planning {
    std::string spec_bytes, submission_id;
    JobSpec spec;
    std::vector<SubmitReply> replies;
    JobPlan plan;
    std::shared_ptr<Forecast> forecast;
    uint64_t pin = 0;  // its inputs in the block store
  };
  std::map<std::string, Planning> planning_;
  uint64_t next_planning_ = 1;
  // Running jobs whose prediction is under way, and what waits for it.
  std::map<JobId, std::vector<std::function<void()>>> foretelling_;
  std::deque<std::function<void()>> unsettled_;  // see WhenSettled

  std::set<Instant> armed_;  // times at which the loop looks for due timers of policies, on the stamps' axis
  std::set<Replica, bool (*)(const Replica&, const Replica&)> probing_;

  struct Queued {
    size_t bytes;
    MakeCommand make;
  };
  // Messages for one worker that wait for the end of the turn. After that the connection bounds them: a worker that
  // does not take its commands is disconnected (rpc::ServerLimits::send_grace, most_queued_bytes).
  struct Outgoing {
    std::vector<Queued> commands;
    std::vector<mr::Answer> verdicts;
    bool due = false;  // not to be kept for company any more
    bool due_armed = false;
  };
  Message NextBatch(WorkerView* worker, Outgoing* out);
  std::map<WorkerId, Outgoing> outgoing_;
  struct OpenReport {
    uint64_t session;
    WorkerId worker;
    ReportOut out;
    std::function<void(ReportOut)> reply;
  };
  std::vector<OpenReport> open_reports_;  // of this turn

  // At most one per attempt that runs.
  struct HeldReport {
    WorkerId worker;
    Incarnation incarnation = 0;
    Instant since;  // lived
    NumberedReport sent;
    BlockId keeps;  // without a replica on a live worker when it was last walked
  };
  std::vector<HeldReport> held_reports_;

  struct Watcher {
    JobId job;
    bool dirty = true, in_flight = false;
    Instant last_push;
  };
  std::map<uint64_t, Watcher> watchers_;
  std::set<JobId> changed_;
  bool push_timer_ = false;
};

// The earliest deadline that would be admitted now, as it is said: rounded up, so that it would be. 0: none.
Duration Earliest(const sched::Admission& answer);
// Why it is not admitted, and from when on it would be; slots: of the cluster. Empty: it is.
std::string RefusalText(const sched::Admission& answer, Duration deadline, uint32_t slots);
// The same of another deadline of a job that runs.
std::string LateText(const sched::Admission& answer, const sched::Job& job, uint32_t slots);

// Replays the journal up to the end of the segment that ends at `until`, writes what it came to as a
// snapshot, and removes what that and the snapshot before it cover. Beside a running master, on a
// thread that may wait; the master's own is not touched.
Status TakeSnapshot(const MasterCore::Config& config, uint64_t until);

}  // namespace mr::master
