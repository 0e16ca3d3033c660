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

#include "common/exec/loop.h"
#include "common/io/clock.h"
#include "common/io/retention.h"
#include "common/model/status.h"
#include "dfs/meta/service.h"
#include "master/core/master_core.h"
#include "master/host/dispatcher.h"
#include "master/host/drain_status.h"
#include "master/host/driver.h"
#include "master/host/effects.h"
#include "master/host/host_clock.h"
#include "master/host/job_reader.h"
#include "master/host/lists.h"
#include "master/host/options.h"
#include "master/host/outlets.h"
#include "master/host/planner.h"
#include "master/host/publisher.h"
#include "master/host/safe_mode.h"
#include "master/host/watchers.h"
#include "master/host/why.h"
#include "master/host/worker_calls.h"
#include "master/sched/policies/jockey/admission.h"
#include "schema/client.capnp.h"
#include "schema/control.capnp.h"

namespace mr::master {

class ProfileStore;
struct Explained;
struct Forecast;
struct PlanContext;

class Brain final : private Effects {
 public:
  using Options = HostOptions;
  Brain(Options options, Loop& loop, Outlets& outlets);
  Duration effects_lease() const { return options_.effects_lease; }
  ~Brain() override;

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

  JobTable& jobs() { return core_.jobs(); }
  WorkerTable& workers() { return core_.workers(); }
  const sched::Scheduler& scheduler() const { return core_.scheduler(); }
  const MasterCore& core() const { return core_; }
  const Options& options() const { return options_; }
  Driver& driver() { return driver_; }
  const Driver& driver() const { return driver_; }
  HostClock& clock() { return clock_; }
  Watchers& watchers() { return watchers_; }
  Lists& lists() { return lists_; }
  WhyReader& why() { return why_; }
  DrainReader& drains() { return drains_; }
  SafeMode& safe_mode() { return safe_mode_; }

 private:
  // Effects (brain.cc, dispatch.cc, files.cc, jobs.cc).
  void CarryOut(const sched::Decision& decision, uint64_t sequence) override;
  void ReplicasChanged(const std::vector<Replica>& added, const std::vector<Replica>& removed) override;
  void CarryOutBlocks(std::vector<dfs::Effect> effects, uint64_t sequence) override;
  void JobEnded(JobId job) override;

  // recovery.cc
  void BeginEpoch();
  void SetEffectsWait(Duration promised);
  void TakeOver();

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
  // Returns the bytes of committed outputs that other stages of the job read.
  uint64_t ShuffleBytes(const JobView& job) const;

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
  // silent: for how long its control loop has not moved. Where it stalls it gets nothing new until it moves again.
  void NoteLoop(WorkerView* worker, Duration silent);
  void CheckLeases();
  void Greet(WorkerView* worker, const Greeting& greeting);
  void Tick();  // CheckLeases and what else waits for time, each 250 ms

  // files.cc
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

  Options options_;
  Loop& loop_;
  Outlets& outlets_;
  HostClock clock_;
  Driver driver_;
  MasterCore& core_;  // the driver's
  JobReader reader_;
  Watchers watchers_;
  DrainReader drains_;
  Lists lists_;
  WhyReader why_;
  Dispatcher dispatcher_;
  SafeMode safe_mode_;
  std::set<std::string> libraries_;
  bool trimming_ = false;                 // a look at the libraries is under way
  dfs::RepairCounts counted_, counting_;  // the last walk over all blocks; the one under way
  BlockId count_from_;                    // not valid: none is under way

  Instant no_room_until_;  // lived: when a job fails, if no worker has room until then; 0: one has
  // From when (lived) on a shorter one holds: until then children live on the lease of the master before this one.
  std::optional<std::pair<Instant, Duration>> shorter_wait_;

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

  std::set<Replica, bool (*)(const Replica&, const Replica&)> probing_;

  // At most one per attempt that runs.
  struct HeldReport {
    WorkerId worker;
    Incarnation incarnation = 0;
    Instant since;  // lived
    NumberedReport sent;
    BlockId keeps;  // without a replica on a live worker when it was last walked
  };
  std::vector<HeldReport> held_reports_;
};

// The earliest deadline that would be admitted now, as it is said: rounded up, so that it would be. 0: none.
Duration Earliest(const sched::Admission& answer);
// Why it is not admitted, and from when on it would be; slots: of the cluster. Empty: it is.
std::string RefusalText(const sched::Admission& answer, Duration deadline, uint32_t slots);
// The same of another deadline of a job that runs.
std::string LateText(const sched::Admission& answer, const sched::Job& job, uint32_t slots);

}  // namespace mr::master
