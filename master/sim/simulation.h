// Runs a workload on a modelled cluster in virtual time, under the very scheduler that the master
// runs (sched::Scheduler). A function of its arguments: the same ones give the same events, decisions
// and Digest(), in any process. Luck (replicas, straggler factors) is drawn per task and attempt, so that it
// does not depend on what the scheduler decides: policies are compared on the same luck.
//
// Thread: any one. Memory: the job models, and what the scheduler keeps.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/rng.h"
#include "master/sched/job_profile.h"
#include "master/sched/policies/dolly_rules.h"
#include "master/sched/scheduler.h"
#include "master/sim/event_queue.h"
#include "master/sim/flows.h"
#include "master/sim/model.h"

namespace mr::sim {

// Job-level cloning (Dolly 3.1): a job may run as several strands, whole copies of it (StrandCount), where the budget
// and the ceiling admit them when it is submitted. Jobs with side effects never do.
struct Strands {
  double epsilon = .05;  // accepted P(the job straggles): Dolly's
  double p = .1;         // P(a task straggles): Dolly's before it has seen any
  sched::Budget budget;
};

struct Experiment {
  ClusterSpec cluster;
  std::vector<JobModel> jobs;  // by submit
  TaskModel tasks;
  FaultPlan faults;
  std::vector<sched::QueueSet> queues;  // set before the first job
  std::string policies = "fifo";        // REQUIRES a list that sched::Scheduler::CheckPolicies takes
  // The master is restarted with another list, which REQUIRES the same; by `at`. Workers go on meanwhile.
  struct ListChange {
    double at = 0;  // seconds
    std::string policies;
  };
  std::vector<ListChange> list_changes;
  // A user gives a job another priority and another deadline (seconds from its submit; 0: none).
  struct Wish {
    double at = 0;  // seconds
    uint32_t job = 0;
    int32_t priority = 0;
    double deadline = 0;
  };
  std::vector<Wish> wishes;
  // As the master does: a job that succeeds teaches later ones of its name and shape, and one of these that has a
  // deadline is predicted at its submit, where the list has jockey.
  bool learn = false;
  std::optional<uint32_t> last;    // the run ends with this job, from 0, and what else runs is left; none: with all
  std::optional<Strands> strands;  // none: each job runs once
  Duration offer_period = Millis(100);  // the papers' heartbeat is of 3 s
  uint64_t seed = 1;
  bool check = false;        // the whole state, and what the simulator knows itself, after each event
  uint64_t most_events = 0;  // timers aside; 0: no bound; what needs more goes in circles
  // One more thing that must hold where `check`: "" or what does not. May be null, as the next.
  std::function<std::string(const sched::State&)> also;
  // Sees each event with the decisions that answer it.
  std::function<void(const sched::StampedEvent&, const std::vector<sched::Decision>&)> watch;
};

struct JobResult {
  bool succeeded = false;
  uint32_t tasks = 0;
  double submitted = 0, ended = 0;  // seconds
  std::string message;              // of one that failed
  double deadline = 0;              // seconds from the submit, as it was in the end; 0: none
  bool late() const { return deadline > 0 && !(succeeded && ended - submitted <= deadline); }
};

struct Totals {
  uint64_t events = 0, starts = 0, commits = 0;  // commits: one per task and generation of its output
  uint64_t copies = 0;         // attempts that run beside or instead of one: speculative, clones, restarts
  uint64_t reduce_copies = 0;  // of these, of reduces
  uint64_t retries = 0;
  uint64_t binds = 0, replicas = 0;
  uint64_t lost_copies = 0;  // that readers found unreadable
  uint64_t kept_copies = 0;  // of outputs that were made a second time
  // Of slots, in seconds: of attempts that committed, and of all others; `busy` is the same, counted as
  // slots over time.
  double useful = 0, wasted = 0, busy = 0;
  std::array<sched::CauseCount, sched::kCauses> causes{};        // by sched::CauseIndex
  double read_bytes = 0, local_bytes = 0, cross_rack_bytes = 0;  // bytes moved, whether used or not
  double replica_bytes = 0;                                      // in the rack, beside these
  double end = 0;                                                // seconds, when the last job ended
};

class Simulation {
 public:
  explicit Simulation(Experiment experiment);
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  // To the end of all jobs. Returns "" or what did not hold. progress: called now and then, with
  // jobs ended and all jobs; may be null.
  std::string Run(const std::function<void(size_t, size_t, Instant)>& progress);

  const std::vector<JobResult>& jobs() const { return results_; }
  // The job of the workload, from 0, that this one is a strand of; itself where it is none.
  uint32_t JobOf(JobId id) const { return original_[id.seq - 1]; }
  const Totals& totals() const { return totals_; }
  const sched::Scheduler& scheduler() const { return scheduler_; }  // for what the run was
  // Of all events and digests so far.
  uint64_t Digest() const { return digest_; }

 private:
  static constexpr uint32_t kNone = ~0u;
  enum class Phase : uint8_t { kRead = 0, kCopy = 1, kSort = 2, kReduce = 3 };
  enum class At : uint8_t { kNowhere, kLaunching, kRunning, kReporting };

  struct Attempt {
    AttemptId id;
    Incarnation incarnation = 0;
    uint32_t worker = 0, generation = 0, stamp = 0;
    uint32_t next = kNone;  // of the same task
    uint32_t place = 0;     // in its worker's list
    uint32_t flow = kNone;
    At at = At::kNowhere;
    Phase phase = Phase::kRead;
    sched::Cause cause = sched::Cause::kFirst;
    bool idle = false;                          // in kCopy, for outputs that are not there yet
    bool timed = false;                         // by a trace or by naps: no resources
    bool counted = true;                        // its bytes are bytes, not parts of its time
    bool computes = false;                      // its flow takes a part of the worker's cores
    bool by_bind = false;                       // it reads what it is told: told_reads_
    uint32_t needed = 0, taken = 0, batch = 0;  // upstream outputs: of all, had, under way
    Instant launched, started, inputs_done, reported_at;
    double bytes = 0;                             // of input
    double before = 0;                            // moved in earlier flows, over all phases
    double flow_bytes = 0, limit = 0, scale = 1;  // scale: units of the flow per byte
    double reported = 0;
    double factor = 1, trace_seconds = 0;
    PhaseShares shares;           // of these seconds
    double cross = 0, local = 0;  // share of the flow's bytes
  };
  struct Task {
    uint32_t first = kNone;  // attempt
    uint32_t committed = 0;  // generation; 0: never
    uint32_t copies = 0, worker = 0;
  };
  // Copies that no reader will be able to read; told: one has tried.
  struct Unreadable {
    sched::Copy copy;
    bool told = false;
  };
  struct FailedRead {
    AttemptId reader;
    uint32_t attempt = 0, stamp = 0;  // the reader's
    sched::Copy copy;
  };
  struct Stage {
    std::vector<Task> tasks;
    std::vector<Unreadable> unreadable;
    uint32_t readable = 0;                            // tasks with a copy
    std::vector<uint32_t> by_rack;                    // of these
    std::vector<std::pair<uint32_t, uint32_t>> idle;  // readers: attempt, stamp
  };
  struct Job {
    std::vector<Stage> stages;
    uint32_t holding = 0;
    bool over = false;
  };
  struct Worker {
    bool up = true;
    Incarnation incarnation = 1;
    double slow = 1;  // contention
    uint32_t disk = 0, uplink = 0, downlink = 0;
    double disk_rate = 0, served = 0;    // bytes of disk per second: in all, and of these to readers
    uint32_t moving = 0, computing = 0;  // attempts with a flow, and those of them that compute
    bool reporting = false;
    std::vector<uint32_t> attempts;
  };
  struct Host {
    std::vector<uint32_t> workers;
    uint32_t busy = 0;  // of these: something of it moves, or writes for ever
  };
  // What a reader by Bind was told to read, and has not read yet.
  struct Told {
    sched::Copy copy;
    Instant since;         // it reads it; 0: not yet
    uint32_t readers = 1;  // of this copy, with itself, when it began
  };
  // A job that runs as several strands, until the last of them has ended.
  struct RunningStrands {
    std::vector<uint32_t> all;  // as jobs_
    uint32_t left = 0;
    uint64_t charge = 0;   // of the budget
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
  void Do(const sched::DropCopy& d);
  void Do(const sched::CommitJob& d);
  void Do(const sched::FailJob& d);
  void Do(const sched::ReplicateCopy& d);
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

  // attempts.cc: how attempts move.
  void Start(uint32_t a);
  void Next(uint32_t a);  // its flow is done
  void TryCopy(uint32_t a);
  uint32_t Available(const Attempt& a) const;
  void CopyRoute(const Attempt& a, std::vector<Flows::Use>* uses, double* cross, double* local) const;
  void ReadRoute(const Attempt& a, std::vector<Flows::Use>* uses, double* cross, double* local) const;
  void Move(uint32_t a, double bytes, std::vector<Flows::Use> uses);
  double LimitOf(const Attempt& a) const;  // of its phase
  double OutputPerByte(const Attempt& a) const;
  void StopFlow(Attempt& a);
  void Finish(uint32_t a);
  void SendMessage(Message message);
  void Deliver(uint32_t message);
  void Free(uint32_t a);  // its slot, in the simulator's books: as wasted
  double MovedBy(const Attempt& a) const;
  void Report(uint32_t worker);
  void WakeReaders(const TaskId& id);

  // bound_reads.cc: readers that are told which copies to read.
  void ReadTold(uint32_t a);   // all that it was told and does not read yet, at once
  void StartOver(uint32_t a);  // what it was reading it has still to read
  bool EndTold(uint32_t a);    // says what it has read; false: it was ended meanwhile

  // outputs.cc: where outputs can be read.
  void Serve(const sched::Copy& copy);
  size_t Served(const TaskId& id) const;  // copies, such as cannot be read among them
  void EndReplica(uint32_t flow);
  bool Reads(const Attempt& a, uint32_t stage, uint32_t task) const;
  void TryUnreadable(uint32_t a);  // the first one that it comes across, if any
  void Tell(uint32_t a, Unreadable& copy);
  void ReadFails(uint32_t read);
  void Probed(uint32_t read);
  bool Known(const sched::Copy& copy) const;  // to the scheduler

  // strands.cc: jobs that run several times at once.
  std::pair<uint32_t, uint64_t> AdmitStrands(const JobModel& job) const;
  void SubmitStrands(uint32_t job);
  bool EndStrand(uint32_t job, bool succeeded);  // of this job; true: the job ends with it
  void KillStrand(uint32_t strand);

  // recurring.cc: deadlines, and what earlier runs say of a job.
  void Foretell(uint32_t job);  // it has been submitted
  void Learn(JobId id);         // it has succeeded
  void Grant(uint32_t wish);

  // load.cc: what shares a machine.
  void SetUpMachines();
  void RestartHog(uint32_t flow);
  void Began(Attempt& a);  // a flow
  void Ceased(Attempt& a);
  void CountBusy(uint32_t worker, bool busy);
  void SetDisk(uint32_t worker, double rate, double served);
  void ChargeSources();
  void Relimit(uint32_t worker);
  double CoreShare(uint32_t worker) const;
  void AddUse(uint32_t link, double share);  // to uses_
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
  void FailAttempt(uint32_t attempt);
  void RestartCopies(JobId job);
  void Register(uint32_t worker);
  bool Chance(double p) { return p > 0 && chance_.Uniform() < p; }

  Experiment experiment_;
  sched::Scheduler scheduler_;
  Rng chance_;  // of messages
  EventQueue queue_;
  Flows flows_;
  Instant now_;
  uint64_t digest_ = 0;
  uint64_t told_ = 0;  // events but timers
  std::string error_;
  Totals totals_;
  size_t ended_ = 0;
  Instant moved_at_;     // when a job, an attempt or a flow last began or ended
  uint32_t live_ = 0;    // attempts
  uint32_t moving_ = 0;  // of these, those with a flow: the others are launched, wait, or report
  double won_seconds_ = -1;
  Duration won_duration_;  // the same, exactly
  sched::Cause won_cause_ = sched::Cause::kFirst;
  uint32_t outside_ = 0;  // submissions, faults and returns still to come

  std::vector<JobResult> results_;
  std::vector<Job> jobs_;                       // strands behind the jobs of the workload, as in experiment_.jobs
  std::vector<uint32_t> original_;              // by job: whose strand it is, or itself
  std::map<uint32_t, RunningStrands> strands_;  // by job
  std::map<std::pair<std::string, uint64_t>, sched::RunProfile> profiles_;  // by name and shape of the plan
  std::vector<Worker> workers_;
  std::vector<Host> hosts_;
  std::vector<uint32_t> rack_up_, rack_down_;  // links; kNone: never short
  std::vector<Attempt> attempts_;
  std::vector<uint32_t> free_attempts_, flow_of_;  // flow_of_: flow -> attempt
  std::vector<uint32_t> hog_of_;                   // flow -> worker, of those that are no attempt's
  std::vector<Message> messages_;
  std::vector<uint32_t> free_messages_;
  std::vector<sched::WakeAt> timers_;
  std::vector<uint32_t> free_timers_;
  std::map<uint32_t, sched::ReplicateCopy> replicas_;  // under way, by flow
  std::vector<FailedRead> failed_reads_;
  std::map<uint32_t, std::vector<Told>> told_reads_;  // by attempt
  std::vector<Flows::Due> due_;
  std::vector<Flows::Use> uses_;
};

}  // namespace mr::sim
