// Runs a workload on a modelled cluster in virtual time, under the scheduler that the master runs (sched::Scheduler). A
// run is a function of its arguments: equal arguments give equal events, decisions and Digest() in any process. Luck
// (block places, straggler factors) is drawn per task and attempt. It does not depend on the scheduler's decisions, so
// policies are compared with the same luck.
//
// Thread: any one. Memory: the job models and the scheduler's state.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/rng.h"
#include "master/sched/defaults.h"
#include "master/sched/job_profile.h"
#include "master/sched/policies/dolly/dolly_rules.h"
#include "master/sched/scheduler.h"
#include "master/sim/engine/event_queue.h"
#include "master/sim/engine/flows.h"
#include "master/sim/engine/machine_factors.h"
#include "master/sim/engine/model.h"

namespace mr::sim {

// Job-level cloning (Dolly, NSDI'13, 3.1): a job may run as several strands, each a clone of the whole job
// (StrandCount). Budget and ceiling decide at its submit. Jobs with side effects never have strands.
struct Strands {
  double epsilon = .05;  // accepted P(the job straggles), Dolly's
  double p = .1;         // P(a task straggles), Dolly's first value
  sched::Budget budget;
};

struct Experiment {
  ClusterSpec cluster;
  std::vector<JobModel> jobs;  // ordered by submit
  TaskModel tasks;
  FaultPlan faults;
  std::vector<sched::QueueSet> queues;           // set before the first job
  std::string policies = sched::kPlainPolicies;  // Requires: sched::Scheduler::CheckPolicies accepts the list
  // A restart of the master with another list. Workers go on meanwhile. Requires: ordered by `at`, lists as `policies`.
  struct ListChange {
    double at = 0;  // seconds
    std::string policies;
  };
  std::vector<ListChange> list_changes;
  // A user sets a job's priority and deadline (seconds from its submit; 0: none).
  struct Wish {
    double at = 0;  // seconds
    uint32_t job = 0;
    int32_t priority = 0;
    double deadline = 0;
  };
  std::vector<Wish> wishes;
  // Learn as the master does: a job that succeeds gives a profile to later jobs of its name and shape. With jockey in
  // the list, such a job with a deadline is predicted at its submit.
  bool learn = false;
  std::optional<uint32_t>
      last;  // the run ends with this job (from 0) and drops what else runs; none: it ends with all jobs
  std::optional<Strands> strands;       // none: each job runs once
  Duration offer_period = Millis(100);  // Hadoop's heartbeat in the papers is 3 s
  uint64_t seed = 1;
  bool check = false;        // check the whole state and the simulator's own bookkeeping after each event
  uint64_t most_events = 0;  // bound that finds endless loops, without timers; 0: no bound
  // A further invariant for `check`. Returns "" or what did not hold. May be null.
  std::function<std::string(const sched::State&)> also;
  // Receives each event with the decisions that answer it. May be null.
  std::function<void(const sched::StampedEvent&, const std::vector<sched::Decision>&)> watch;
};

struct JobResult {
  bool succeeded = false;
  uint32_t tasks = 0;
  double submitted = 0, ended = 0;  // seconds
  std::string message;              // of a job that failed
  double deadline = 0;              // final deadline in seconds from the submit; 0: none
  bool late() const { return deadline > 0 && !(succeeded && ended - submitted <= deadline); }
};

struct Totals {
  uint64_t events = 0, starts = 0, commits = 0;  // commits: one per task and generation of its output
  uint64_t extra = 0;          // speculative attempts, clones and restarts: they run beside or instead of another
  uint64_t extra_reduces = 0;  // the part of `extra` in reduce stages
  uint64_t retries = 0;
  uint64_t binds = 0, replicas = 0;
  uint64_t lost_replicas = 0;  // found unreadable by a reader
  uint64_t kept_replicas = 0;  // of outputs that were made a second time
  // Slot-seconds of attempts that committed and of all others. `busy` is their sum, integrated over the slots in use.
  double useful = 0, wasted = 0, busy = 0;
  std::array<sched::CauseCount, kCauses> causes{};               // by CauseIndex
  double read_bytes = 0, local_bytes = 0, cross_rack_bytes = 0;  // bytes moved, used or not
  double replica_bytes = 0;                                      // moved for replicas inside racks, not in read_bytes
  double end = 0;                                                // when the last job ended, in seconds
};

class Simulation {
 public:
  explicit Simulation(Experiment experiment);
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  // Runs until all jobs have ended. Returns "" or what did not hold. progress: called now and then with the jobs ended,
  // all jobs and the time; may be null.
  std::string Run(const std::function<void(size_t, size_t, Instant)>& progress);

  const std::vector<JobResult>& jobs() const { return results_; }
  // Returns the job of the workload (from 0) that this job is a strand of, or the job itself.
  uint32_t JobOf(JobId id) const { return original_[id.seq - 1]; }
  const Totals& totals() const { return totals_; }
  const sched::Scheduler& scheduler() const { return scheduler_; }  // for its final state
  // Returns the digest over all events and states so far.
  uint64_t Digest() const { return digest_; }

 private:
  static constexpr uint32_t kNone = ~0u;
  // Most outputs of a reader that takes shares of the uplinks of its source hosts (adr/0001).
  static constexpr uint32_t kFewSources = 16;
  enum class Phase : uint8_t { kRead = 0, kCopy = 1, kSort = 2, kReduce = 3 };
  enum class At : uint8_t { kNowhere, kLaunching, kRunning, kReporting };
  // Purposes of Luck: each has draws of its own.
  enum : uint64_t {
    kBlockLuck = 1,
    kAttemptLuck = 2,
    kRecordLuck = 3,
    kNapLuck = 4,
    kPlaceLuck = 5,
    kFailureLuck = 6,
    kSkewLuck = 8,  // 7: machine_factors.cc
    kStallLuck = 9,
    kStartupLuck = 10,
    kShapeLuck = 11,
    kFrameLuck = 12,
  };

  struct Attempt {
    AttemptId id;
    Incarnation incarnation = 0;
    uint32_t worker = 0, generation = 0, stamp = 0;
    uint32_t next = kNone;  // next attempt of the same task
    uint32_t place = 0;     // index in its worker's list
    uint32_t flow = kNone;
    At at = At::kNowhere;
    Phase phase = Phase::kRead;
    Cause cause = Cause::kFirst;
    bool idle = false;      // in kCopy, waiting for outputs that are not there yet
    bool timed = false;     // by a trace or by naps: uses no resources
    bool counted = true;    // its bytes are real bytes, not parts of its time
    bool computes = false;  // its flow takes a share of the worker's cores
    bool few = false;       // it reads at most kFewSources outputs
    bool by_bind = false;   // a Bind names each replica that it reads
    bool awaits = false;    // it is in Stage::waiting of its upstream stages; only of those with a list
    bool stalled = false;
    uint32_t stalls = 0;                        // times that it stalled or went on
    uint32_t needed = 0, taken = 0, batch = 0;  // upstream outputs: in all, read, being read
    Instant launched, started, inputs_done, reported_at;
    double bytes = 0;                             // input bytes
    double before = 0;                            // moved in earlier flows, over all phases
    double flow_bytes = 0, limit = 0, scale = 1;  // scale: flow units per byte
    double reported = 0;
    double factor = 1, trace_seconds = 0;
    double shape = 1;                               // exponent of its reported progress (TaskModel::report_noise)
    PhaseShares shares;                             // shares of trace_seconds
    double cross = 0, local = 0;                    // shares of the flow's bytes
    bool listed() const { return few || by_bind; }  // its reads are in reads_
  };
  struct Task {
    uint32_t first = kNone;  // attempt index
    uint32_t committed = 0;  // generation; 0: never
    uint32_t replicas = 0, worker = 0;
    double written = 0;  // Worker::written when its output was written there
  };
  // A replica that no reader can read. told: one reader has tried.
  struct Unreadable {
    Replica replica;
    bool told = false;
  };
  struct FailedRead {
    AttemptId reader;
    uint32_t attempt = 0, stamp = 0;  // attempt: the reader's
    Replica replica;
  };
  struct Stage {
    std::vector<Task> tasks;
    std::vector<Unreadable> unreadable;
    uint32_t readable = 0;                               // tasks with a readable replica
    double usual_seconds = 0;                            // median of recorded times; 0: not computed
    std::vector<uint32_t> by_rack;                       // readable replicas per rack
    std::vector<std::pair<uint32_t, uint32_t>> waiting;  // readers that lack an output: attempt, stamp
  };
  struct Job {
    std::vector<Stage> stages;
    uint32_t holding = 0;
    bool over = false;
  };
  struct Worker {
    bool up = true;
    Incarnation incarnation = 1;
    double slow = 1;  // slowdown by contention
    uint32_t disk = 0, uplink = 0, downlink = 0;
    double disk_rate = 0, served = 0;    // bytes of disk per second: total, and the part that serves readers
    uint32_t moving = 0, computing = 0;  // attempts with a flow, and the part of them that computes
    bool reporting = false;
    uint32_t frames = 0;  // of reports, sent
    Instant frame_at;     // when the last one arrives
    double written = 0;   // bytes of outputs, in all
    std::vector<uint32_t> attempts;
  };
  struct Host {
    std::vector<uint32_t> workers;
    uint32_t busy = 0;  // workers with a flow or a disk hog
  };
  // The read of one output, from one replica at a time.
  struct Read {
    Replica replica;
    Instant since;         // when it began; 0: not yet
    uint32_t readers = 1;  // readers of this replica when it began, this one included
    double left = 1;       // share of the bytes
    bool told = false;     // of a bound reader: its end was reported
  };
  // A job that runs as several strands. It lasts until the last strand has ended.
  struct RunningStrands {
    std::vector<uint32_t> all;  // indexes in jobs_
    uint32_t left = 0;
    uint64_t charge = 0;   // slots of the budget
    bool decided = false;  // the job has ended
  };
  struct Message {
    sched::AttemptFinished report;
    uint32_t attempt = 0, stamp = 0;
  };

  // simulation.cc: the loop, and decisions.
  void Step(sched::Event event);
  void Handle(const Item& item);
  void Do(const sched::Launch& d);
  void Do(const sched::Accept& d);
  void Do(const sched::DropReplica& d);
  void Do(const sched::CommitJob& d);
  void Do(const sched::FailJob& d);
  void Do(const sched::ReplicateOutput& d);
  void Do(const sched::Bind& d);
  void Carry(const sched::Decision& decision);
  void KillSoon(const AttemptId& id);
  void EndJob(JobId id, bool succeeded, const std::string& message);
  void Submit(uint32_t job);
  void Plan(uint32_t job, uint32_t stage);
  void FireTimer(uint32_t timer);
  void Broken(const std::string& what);
  uint32_t Find(const AttemptId& id) const;
  const StageModel& ModelOf(const TaskId& id) const { return experiment_.jobs[id.job.seq - 1].stages[id.stage]; }
  Stage& StageOf(const TaskId& id) { return jobs_[id.job.seq - 1].stages[id.stage]; }
  Rng Luck(const TaskId& id, uint32_t number, uint64_t purpose) const;

  // attempts.cc: the phases of attempts.
  void Start(uint32_t a);
  void Begin(uint32_t a);  // its first byte
  double FactorOf(const AttemptId& id) const;
  // Returns the seconds of another attempt of a task that recorded `own`, with `other` drawn (TaskModel::skew_share).
  double WithSkew(const TaskId& id, double own, double other);
  void ScheduleStall(uint32_t a);  // or its end
  void ToggleStall(uint32_t a);
  void Next(uint32_t a);  // after its flow has ended
  void ReadRoute(const Attempt& a, std::vector<Flows::Use>* uses, double* cross, double* local) const;
  void Move(uint32_t a, double bytes, std::vector<Flows::Use> uses);
  double LimitOf(const Attempt& a) const;  // rate limit of its phase
  double OutputPerByte(const Attempt& a) const;
  void StopFlow(Attempt& a);
  void Finish(uint32_t a);
  void SendMessage(Message message);
  void Deliver(uint32_t message);
  void Free(uint32_t a);  // frees its slot and counts its time as wasted
  double MovedBy(const Attempt& a) const;

  // copies.cc: how readers copy their inputs.
  void TryCopy(uint32_t a);                  // starts to read what is there
  void CopyOn(uint32_t a);                   // after its flow has ended
  void EndCopy(uint32_t a);                  // it has all inputs
  uint32_t Sources(const Attempt& a) const;  // number of outputs that it reads
  uint32_t Available(const Attempt& a) const;
  void CopyRoute(Attempt& a);  // sets uses_, and the attempt's shares
  // Adds the links to sources with these shares of `all`. from_disk: the part that the reader's own disk serves.
  void AddSources(Attempt& a, const std::map<uint32_t, double>& by_worker, const std::vector<double>& by_rack,
                  double all, double from_disk);
  void AwaitOutputs(uint32_t a);  // a new output of its upstream stages wakes it
  void WakeReaders(const TaskId& id);
  void Wake(uint32_t a);  // has it look for outputs at this instant, in an item of its own

  // reports.cc: progress reports.
  void Report(uint32_t worker);
  void SendFrame(uint32_t worker, sched::AttemptProgress frame);
  void DeliverFrame(uint32_t slot);

  // listed_reads.cc: readers that list their reads.
  void ReadNext(uint32_t a);      // has it read what is new
  void ListReadable(uint32_t a);  // lists what is there, of a reader that is not bound
  void ReadListed(uint32_t a);    // starts a flow for all that it can read
  void CreditReads(uint32_t a);   // stops its flow and counts what its reads have moved
  // Forgets its read of this replica, if unfinished.
  void RestartRead(uint32_t a, const Replica& replica);
  bool EndReads(uint32_t a);  // reports its finished reads; false: the attempt was ended meanwhile

  // outputs.cc: replicas of outputs.
  void Serve(const Replica& replica);
  bool Cached(const Task& task) const;    // is its output in the memory of the worker that readers read it from?
  size_t Served(const TaskId& id) const;  // number of replicas, readable or not
  void EndReplica(uint32_t flow);
  bool Reads(const Attempt& a, uint32_t stage, uint32_t task) const;
  void TryUnreadable(uint32_t a);  // reports the first unreadable replica that it needs, if any
  void Tell(uint32_t a, Unreadable& replica);
  void ReadFails(uint32_t read);
  void Probed(uint32_t read);
  bool Known(const Replica& replica) const;  // does the scheduler know it?

  // strands.cc: jobs that run several times at once.
  std::pair<uint32_t, uint64_t> AdmitStrands(const JobModel& job) const;
  void SubmitStrands(uint32_t job);
  bool EndStrand(uint32_t job, bool succeeded);  // a strand of this job ended; true: the job ends with it
  void KillStrand(uint32_t strand);

  // recurring.cc: deadlines, and predictions from earlier runs.
  void Foretell(uint32_t job);  // after its submit
  void Learn(JobId id);         // after its success
  void Grant(uint32_t wish);

  // load.cc: resources that attempts share.
  void SetUpMachines();
  void RestartHog(uint32_t flow);
  void Began(Attempt& a);  // its flow begins
  void Ceased(Attempt& a);
  void CountBusy(uint32_t worker, bool busy);
  void SetDisk(uint32_t worker, double rate, double served);
  void ChargeSources();
  void Relimit(uint32_t worker);
  double CoreShare(uint32_t worker) const;
  void AddUse(uint32_t link, double share);  // in uses_
  void AddDisk(const Attempt& a, double share) { AddUse(workers_[a.worker].disk, share); }
  void AddOutput(const Attempt& a);
  double DiskScale(const Attempt& a, std::vector<Flows::Use>* uses) const;

  // faults.cc.
  void Break(uint32_t fault);
  void Crash(const Fault& fault);
  void Lost(uint32_t worker, Incarnation incarnation);
  void Back(uint32_t worker);
  void LoseOutput(const Fault& fault);
  void Contend(uint32_t worker, double factor);
  void TurnMachine(uint32_t worker);
  void FailAttempt(uint32_t attempt);
  void RestartCopying(const Replica& replica, bool all);  // all: those that list no reads, too
  void Register(uint32_t worker);
  bool Chance(double p) { return p > 0 && chance_.Uniform() < p; }

  Experiment experiment_;
  sched::Scheduler scheduler_;
  Rng chance_;  // drops and delays messages
  EventQueue queue_;
  Flows flows_;
  MachineFactors machines_;
  Instant now_;
  uint64_t digest_ = 0;
  uint64_t told_ = 0;  // events without timers
  std::string error_;
  Totals totals_;
  size_t ended_ = 0;
  Instant moved_at_;     // when a job, an attempt or a flow last began or ended
  uint32_t live_ = 0;    // attempts
  uint32_t moving_ = 0;  // attempts with a flow; the others are launching, waiting or reporting
  double won_seconds_ = -1;
  Duration won_duration_;  // exact form of won_seconds_
  Cause won_cause_ = Cause::kFirst;
  uint32_t outside_ = 0;  // submissions, faults and returns still to come

  std::vector<JobResult> results_;
  std::vector<Job> jobs_;                       // strands stand behind the jobs of the workload, as in experiment_.jobs
  std::vector<uint32_t> original_;              // per job: the job that it is a strand of, or itself
  std::map<uint32_t, RunningStrands> strands_;  // keyed by job
  std::map<std::pair<std::string, uint64_t>, sched::RunProfile> profiles_;  // keyed by name and plan shape
  std::vector<Worker> workers_;
  std::vector<Host> hosts_;
  std::vector<uint32_t> rack_up_, rack_down_;  // links; kNone: unlimited
  std::vector<Attempt> attempts_;
  std::vector<uint32_t> free_attempts_, flow_of_;  // flow_of_: attempt of each flow
  std::vector<uint32_t> hog_of_;                   // worker of each flow of a disk hog
  std::vector<Message> messages_;
  std::vector<uint32_t> free_messages_;
  std::vector<sched::AttemptProgress> frames_;  // late ones
  std::vector<uint32_t> free_frames_;
  std::vector<sched::WakeAt> timers_;
  std::vector<uint32_t> free_timers_;
  std::map<uint32_t, sched::ReplicateOutput> replicas_;  // in transfer, keyed by flow
  std::vector<FailedRead> failed_reads_;
  std::map<uint32_t, std::vector<Read>> reads_;  // keyed by attempt
  std::vector<Flows::Due> due_;
  std::vector<Flows::Use> uses_;
};

}  // namespace mr::sim
