// What the scheduler knows: the fold of all events and of its own decisions.
//
// Reading is for everybody (policies through View, the host's status pages, tests). Writing goes
// through the setters only, which keep three things in step: the digest (a sum of per-entity
// hashes, so that one change costs one entity), the ordered indexes, and the counters. No container
// here has an order that depends on addresses or on a hash.
//
// Cost: a setter touches what it names; nothing walks all tasks or attempts but EndJob, Forget of
// an ended job and CheckState.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "common/base/status.h"
#include "master/sched/entities.h"
#include "master/sched/event.h"
#include "master/sched/lately.h"

namespace mr::sched {

struct FactKey {
  std::string policy, scope;
  uint64_t id = 0;
  std::string name;
  auto operator<=>(const FactKey&) const = default;
  template <class V>
  static void Fields(V&& v) {
    v(&FactKey::policy, &FactKey::scope, &FactKey::id, &FactKey::name);
  }
};
using FactValue = std::variant<int64_t, double>;

// A FactKey to ask for, which owns no strings; and of a timer its policy and id.
struct FactName {
  FactName(std::string_view p, std::string_view s, uint64_t i, std::string_view n)
      : policy(p), scope(s), id(i), name(n) {}
  FactName(const FactKey& key) : FactName(key.policy, key.scope, key.id, key.name) {}
  std::string_view policy, scope;
  uint64_t id = 0;
  std::string_view name;
  auto operator<=>(const FactName&) const = default;
};
struct FactLess {
  using is_transparent = void;
  bool operator()(const FactName& a, const FactName& b) const { return a < b; }
};
using TimerKey = std::pair<std::string, uint64_t>;
struct TimerLess {
  using is_transparent = void;
  using Name = std::pair<std::string_view, uint64_t>;
  bool operator()(const Name& a, const Name& b) const { return a < b; }
};
using Facts = std::map<FactKey, FactValue, FactLess>;
using Timers = std::map<TimerKey, Instant, TimerLess>;

// A list of policies, and since when it was in force.
struct ListInForce {
  Instant from;
  std::string policies;
  bool operator==(const ListInForce&) const = default;
  template <class V>
  static void Fields(V&& v) {
    v(&ListInForce::from, &ListInForce::policies);
  }
};
inline constexpr size_t kListsKept = 64;  // a guess: more than a master is given while it knows a job

// Where no LeaseSet says another wait: the default lease of 10 s, and what its end may take (worker/adr/0003).
inline constexpr Duration kLostWait = Seconds(15);

struct Config {
  bool known = false;
  std::string policies;
  uint64_t seed = 0;
  uint32_t scheduler_version = 0;
  Duration offer_period = Millis(100);
  uint32_t restarts = 0;           // ConfigChanged events after the first
  std::vector<ListInForce> lists;  // the newest kListsKept that differ from the one before; the last is `policies`
  Duration lost_wait = kLostWait;  // LeaseSet
  template <class V>
  static void Fields(V&& v) {
    using T = Config;
    v(&T::known, &T::policies, &T::seed, &T::scheduler_version, &T::offer_period, &T::restarts, &T::lists,
      &T::lost_wait);
  }
};

// Failures of one task by the environment until it is not tried where it failed any more, and fails
// its job where no other worker is left. A guess: with the back-off between them they take 6 s,
// in which a disk that is full for a moment has been emptied.
inline constexpr uint32_t kMaxEnvironmentFailures = 8;
// Charged failures of one task until it waits, however busy the others are, for a worker on which it failed less: one
// that fails what it runs within milliseconds would use up the job's four tries while others work. A guess: half of
// them.
inline constexpr uint32_t kFailuresAnywhere = 2;

// A stage in the order in which fifo serves: priority, then arrival, then upstream first.
struct StageKey {
  int64_t rank = 0;  // minus the priority
  uint64_t arrival = 0;
  StageId stage;
  auto operator<=>(const StageKey&) const = default;
};

// What the policy list asks of the indexes. Derived from Config::policies.
struct Sharing {
  // A stage is early once this share of its upstream tasks is committed, or nothing there is pending.
  double slow_start = 1;
  bool by_held = false;     // JobRank::held counts; else it is 0, and jobs stay where they are in their queue
  bool by_kind = false;     // it counts slots of the index's kind, not of both
  bool max_shares = false;  // queues' max shares bind
  bool by_rack = false;     // Stage::racks and State::racks() are kept
  bool operator==(const Sharing&) const = default;
};

// The jobs that one list of job-scope policies serves. Derived from the jobs that are known.
struct JobList {
  std::string text;    // as the jobs have it; "": jobs without a list of their own
  std::string suffix;  // of the names under which these policies keep facts and timers; "" where text is
  uint32_t jobs = 0;
  StatisticsWanted statistics;                   // what its policies want
  std::array<std::set<StageKey>, 2> speculable;  // as State::speculable, of these jobs
};

class State {
 public:
  State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // Reading.
  uint64_t Digest() const { return digest_; }
  const Config& config() const { return config_; }
  const std::map<JobId, Job>& jobs() const { return jobs_; }
  const std::map<WorkerId, Worker>& workers() const { return workers_; }
  // All of them by id, in few bytes: who looks at many for one decision finds eight in a line of memory.
  const std::vector<RollEntry>& roll() const { return roll_; }
  const Facts& facts() const { return facts_; }
  const Timers& timers() const { return timers_; }
  const std::map<std::string, Queue>& queues() const { return queues_; }
  // Those with jobs that run or hold slots, by number.
  const std::map<uint64_t, const Queue*>& busy_queues() const { return busy_queues_; }
  const Sharing& sharing() const { return sharing_; }
  // Over all workers, those that are gone, too.
  uint64_t outputs_made() const { return outputs_made_; }
  uint64_t outputs_lost() const { return outputs_lost_; }
  uint64_t offers() const { return offers_; }
  WorkerId offer_cursor() const { return offer_cursor_; }

  // Null where there is none.
  const Job* FindJob(JobId id) const;
  const Stage* FindStage(StageId id) const;
  const Task* FindTask(TaskId id) const;
  const Attempt* FindAttempt(const AttemptId& id) const;
  const Worker* FindWorker(WorkerId id) const;
  const FactValue* FindFact(const FactName& key) const;
  const Instant* FindTimer(std::string_view policy, uint64_t id) const;
  const StageSpec& Spec(StageId id) const;

  // Stages with a task whose inputs are all there; with a task that could wait for its inputs on a
  // slot, since nothing upstream is pending; ready ones of jobs whose attempts wait for inputs.
  const std::set<StageKey>& ready(SlotKind kind) const { return ready_[KindIndex(kind)]; }
  const std::set<StageKey>& early(SlotKind kind) const { return early_[KindIndex(kind)]; }
  const std::set<StageKey>& starved() const { return starved_; }
  // Stages with a candidate for a speculative copy; empty unless statistics are kept.
  const std::set<StageKey>& speculable(SlotKind kind) const { return speculable_[KindIndex(kind)]; }
  // By the text of their list: those of the jobs that are known, and always the cluster's (""). The
  // count rises whenever one comes or goes.
  const std::map<std::string, JobList>& lists() const { return lists_; }
  uint64_t lists_count() const { return lists_count_; }
  // Lists with a candidate, by the first stage that has one.
  const std::map<StageKey, const JobList*>& speculating(SlotKind kind) const { return speculating_[KindIndex(kind)]; }
  // Speculative attempts with a slot of this kind, whatever list they are of.
  uint32_t copies(SlotKind kind) const { return copies_[KindIndex(kind)]; }
  // Attempts with a slot that was lent to them while it was idle (Cause::kOpportunistic).
  const std::set<AttemptId>& lent() const { return lent_; }
  // Attempts that end: they have a slot and are not live.
  const std::set<AttemptId>& ending() const { return ending_; }
  // Running jobs with a Job::share, the earliest deadline first; those of them with a stage in `ready` that hold fewer
  // slots, and those with such a stage that do not.
  using ByDeadline = std::set<std::pair<Instant, JobId>>;
  const ByDeadline& guaranteed() const { return guaranteed_; }
  const ByDeadline& wanting() const { return wanting_; }
  const ByDeadline& spare() const { return spare_; }
  // Rises whenever a job comes to stand in wanting().
  uint64_t wants_count() const { return wants_count_; }
  // Of the slots that they hold those that they are guaranteed.
  uint32_t within_guarantees() const { return within_guarantees_; }
  // Of workers that are alive and not draining.
  const SlotCount& slots() const { return slots_; }
  // By rack number (Worker::rack_number); all 0 unless Sharing::by_rack.
  const std::vector<RackSlots>& racks() const { return racks_; }
  const std::string& RackName(uint32_t number) const { return *rack_names_[number]; }
  // Workers with room for an attempt of this kind that may be offered.
  const std::set<WorkerId>& free(SlotKind kind) const { return free_[KindIndex(kind)]; }
  const std::set<std::pair<Instant, TaskId>>& held_tasks() const { return held_tasks_; }
  // Tasks with Task::unended.
  const std::set<TaskId>& unended() const { return unended_; }
  const std::set<std::pair<Instant, WorkerId>>& held_workers() const { return held_workers_; }
  // Rises whenever a task becomes schedulable or a stage ready.
  uint64_t work_count() const { return work_count_; }

  // What reads of bound readers took, by how many read the same copy meanwhile: one, two, ..., kMostReaders or more.
  static constexpr size_t kMostReaders = 4;
  const std::array<Transfers, kMostReaders>& transfers() const { return transfers_; }

  // Rounds of idle offers so far. Within one nothing changes but by what policies decide: they may keep
  // what they saw.
  uint64_t idle_rounds() const { return idle_rounds_; }
  // Rises with each event and each plan that is folded in, but for plans that only remember: between two nothing
  // changes but facts, timers and the count of offers.
  uint64_t folds() const { return folds_; }

  // Offers, and workers, places and candidates that were looked at for them: what deciding costs, the same
  // on any machine. Not part of the state.
  uint64_t looks() const { return looks_; }
  void Look(uint64_t n = 1) const { looks_ += n; }

  // All upstream tasks that class `c` reads as wholes are committed.
  bool FullReady(const Job& job, uint32_t stage, const TaskClass& c) const;
  bool InputsComplete(const Job& job, uint32_t stage, const Task& task) const;
  // Some task of the stage may have all of its inputs: else each lacks one.
  bool AnyFullReady(const Job& job, uint32_t stage) const;
  // The statistics of a stage with every report in them. Const: what they say follows from the attempts, and when it
  // is worked out is nobody's concern.
  const StageStatistics& Counted(const StageId& id) const;
  // A live attempt that does not have, and cannot yet get, all of its inputs.
  bool Waiting(const AttemptId& id) const;
  // Upstream tasks that are not committed; upstream tasks without a live attempt.
  uint32_t UpstreamUnfinished(const Job& job, uint32_t stage) const;
  uint32_t UpstreamPending(const Job& job, uint32_t stage) const;
  // See Sharing::slow_start.
  bool EarlyDue(const Job& job, uint32_t stage) const;
  JobRank RankOf(const Job& job, size_t kind) const;
  // Its queue holds all that it may, and an attempt of this kind would count as more.
  bool QueueFull(const Job& job, SlotKind kind) const;
  // Some reader of this output is not committed (waits: does not run either), or its stage is not planned yet.
  bool Needed(const Job& job, const TaskId& id, bool waits = false) const;
  // Slots and memory only; whether it is offered at all: free().
  bool Room(const Worker& w, const SlotUse& used, SlotKind kind, uint64_t memory_bytes) const;
  // Failures of this task that the present life of this worker reported.
  uint32_t TimesFailedOn(const Task& task, const Worker& w) const;
  // A live attempt of this task is on this worker.
  static bool LiveOn(const Task& task, WorkerId worker) {
    return std::any_of(task.attempts.begin(), task.attempts.end(),
                       [&](const Attempt& a) { return a.live() && a.worker == worker; });
  }
  // A new attempt of it does not belong on this worker: a clone of it runs there, or in its rack while a worker of a
  // rack without one has room; or the task failed there and should
  // wait for another one on which it failed less: one that has room now or, once it is hopeless here
  // (kMaxEnvironmentFailures, kFailuresAnywhere), one that may get it.
  bool BelongsElsewhere(const StageSpec& spec, const Task& task, const Worker& w) const;
  // An attempt of this task runs in the rack of w, and a free worker of a rack where none does could take one. Looks at
  // so many free workers only (a guess: where there are more racks, one of them is soon found).
  static constexpr size_t kWorkersSeenForRacks = 256;
  bool AnotherRackHasRoom(const StageSpec& spec, const Task& task, const Worker& w) const;
  // Live, not draining, and large enough for an attempt of this stage.
  bool MayEverRun(const StageSpec& spec, const Worker& w) const;
  // "pending", "running", "waiting", "committed", "failed" or "killed".
  const char* Word(const AttemptId& id) const;
  Copy MakeCopy(const TaskId& id, const CopyPlace& place) const;

  // Writing. Each REQUIRES that what it names exists.
  void SetConfig(const ConfigChanged& event, Instant now);
  void SetSharing(const Sharing& sharing);  // walks all running jobs
  void SetQueue(const QueueSet& event);
  void PutWorker(const WorkerRegistered& event);  // comes, or comes back: alive and not held
  template <class F>
  void EditWorker(WorkerId id, F&& edit) {
    Worker& w = WorkerOf(id);
    digest_ -= Hash(w);
    edit(w);
    digest_ += Hash(w);
    RefreshWorker(w);
  }
  void HoldWorker(WorkerId id, Instant until);
  void ReleaseWorker(WorkerId id);  // no-op where it is not held

  void AddJob(const JobSubmitted& event, Instant now);
  // Not for what indexes or counters use.
  template <class F>
  void EditJob(JobId id, F&& edit) {
    Job& job = JobOf(id);
    digest_ -= Hash(job);
    edit(job);
    digest_ += Hash(job);
  }
  // Of a running job: Job::share; what users wish of it; what is predicted of it.
  void SetShare(JobId id, uint32_t slots);
  void SetWishes(const JobSet& event, Instant now);
  void SetPrediction(const ProfileLoaded& event);  // REQUIRES one that is Valid
  // Takes the job out of every index and forgets its copies; attempts with a slot keep it.
  void EndJob(JobId id, JobState state, const std::string& message, Instant now);
  void AskPlan(StageId id);
  void MarkStageIndeterminate(StageId id);
  void SetPlan(const StagePlanned& event, Instant now);  // REQUIRES a plan that CheckPlan took

  // `edit` may change the task and its attempts (through EditAttempt), not its plan or copies.
  template <class F>
  void EditTask(const TaskId& id, F&& edit) {
    Task& task = BeginTask(id);
    edit(task);
    FinishTask(id, task);
  }
  void HoldTask(const TaskId& id, Instant until);
  void ReleaseTask(const TaskId& id);  // no-op where it is not held
  void SetUnended(const TaskId& id, std::vector<Unended> unended);
  void SetLease(Duration wait);
  uint32_t AddAttempt(const TaskId& id, WorkerId worker, Cause cause, Instant now, bool by_bind = false);
  // For what moves no index: progress and times.
  template <class F>
  void EditAttempt(const AttemptId& id, F&& edit) {
    Attempt& attempt = AttemptOf(id);
    digest_ -= Hash(id.task, attempt);
    edit(attempt);
    digest_ += Hash(id.task, attempt);
    Rerate(id);
  }
  // REQUIRES an attempt with a slot; `state` may be kEnding (keeps it) or an end (gives it up).
  void MoveAttempt(const AttemptId& id, AttemptState state, Instant now);
  // The attempt's report is the task's commit: ends it, frees its slot, fixes the content.
  void Commit(const AttemptId& id, const Manifest& manifest, Instant now, Duration ran = {}, Duration waited = {});
  // Of a task without attempts: this is its commit.
  void KeepOutput(const TaskId& id, const KeptOutput& output);
  void MarkTakenBack(const AttemptId& id);  // before it moves to kEnding
  void AddSample(const AttemptId& id, const Sample& sample, bool inputs_done);

  void AddCopy(const TaskId& id, const CopyPlace& place);
  // Readers that were told to read it, and have not yet, are told nothing any more: these are returned.
  std::vector<AttemptId> RemoveCopy(const TaskId& id, const CopyPlace& place);

  // REQUIRES a live by_bind attempt of a running job, and a copy that its task has.
  void Bind(const AttemptId& reader, const TaskId& output, const CopyPlace& copy, bool exclusive, Instant now);
  // REQUIRES an output of a running job.
  void AskCopy(const Copy& from, WorkerId to);
  // False where this worker was not asked to copy this output from this attempt's copy.
  bool EndAsked(const OutputId& output, uint32_t attempt, WorkerId to);
  void DropAsked(const TaskId& task);
  // The reader has all bytes. No-op where it was not told to read the output.
  void EndRead(const AttemptId& reader, const TaskId& output);

  void CountTransfer(uint32_t readers, uint64_t bytes, Duration took);
  void SetFact(const FactKey& key, FactValue value);
  void EraseFact(const FactKey& key);
  void SetTimer(const std::string& policy, uint64_t id, Instant at);
  void EraseTimer(const std::string& policy, uint64_t id);
  void BeginIdleRound() { ++idle_rounds_; }
  void CountFold() { ++folds_; }
  void CountOffer(WorkerId launched_on);  // valid id: the cursor moves there

  // These statistics of attempts (statistics.h) of the jobs of this list, from now on. Walks these jobs on a change.
  void KeepStatistics(const JobList& list, const StatisticsWanted& wanted);
  // Until then candidates' reports since the last time are not in the statistics.
  void CountReports();
  size_t uncounted() const;  // reports that are kept for it
  // Parts of CheckState.
  std::string CheckStatistics() const;
  std::string CheckLists() const;
  std::string CheckRacks() const;
  std::string CheckGuarantees() const;

  // The digest computed anew from every entity; tests compare it with Digest().
  uint64_t RecomputeDigest() const;
  // The digest's summands by name ("task job_1_0001/0/7"), to find where two states differ. Slow.
  std::map<std::string, uint64_t> Entities() const;

  // state_image.cc: see Scheduler::Save and Restore.
  void Save(const std::function<void(std::string)>& part) const;
  Status RestorePart(std::string_view part);
  Status FinishRestore();

 private:
  // Into the cache; see state_end.cc.
  void FetchAhead(const std::vector<Task>& tasks, uint32_t t) const;

  Job& JobOf(JobId id);
  Worker& WorkerOf(WorkerId id);
  Stage& StageOf(const TaskId& id);
  Task& TaskOf(const TaskId& id);
  Attempt& AttemptOf(const AttemptId& id);
  static void NoteContent(Stage& stage, uint32_t task);
  Task& BeginTask(const TaskId& id);              // out of the indexes and the digest
  void FinishTask(const TaskId& id, Task& task);  // back in

  // state_hash.cc: everything that is not derived.
  static uint64_t Hash(const Config& config);
  static uint64_t Hash(const Worker& worker);
  static uint64_t Hash(const Queue& queue);
  static uint64_t Hash(const Job& job);
  static uint64_t Hash(const StageId& id, const Stage& stage);
  static uint64_t Hash(const TaskId& id, const Task& task);
  static uint64_t Hash(const TaskId& id, const Attempt& attempt);
  static uint64_t HashButHistory(const TaskId& id, const Attempt& attempt);
  static uint64_t Hash(const TaskId& id, const CopyPlace& place);
  static uint64_t Hash(JobId job, const BoundRead& read);
  static uint64_t Hash(JobId job, const AskedCopy& asked);
  static uint64_t Hash(const FactKey& key, const FactValue& value);
  static uint64_t HashTimer(const std::string& policy, uint64_t id, Instant at);
  uint64_t HashCounters() const;
  template <class Visit>
  void EachHash(Visit visit) const;

  // state_index.cc: what is derived.
  bool Schedulable(const Job& job, const StageSpec& spec, const Task& task) const;
  void Index(Job& job, const TaskId& id, Task& task, bool in);
  void PoolInsert(Pool& pool, uint32_t index, const Task& task);
  static void PoolErase(Pool& pool, uint32_t index);
  // After a task's commit came or went: readers by partial slices miss one less or one more.
  void CommitMoved(const TaskId& id);
  void Refresh(Job& job, uint32_t stage);
  void RefreshAll(Job& job);
  void RefreshWorker(Worker& w);
  Worker& AddWorker(WorkerId id);
  // Racks in the order in which they were first seen: for indexes only, since it differs after a restore.
  uint32_t RackNumber(const std::string& rack);

  // state_rack.cc: Stage::racks and racks().
  void CountRacks(Stage& stage, const Task& task, int direction) const;
  void CountRack(Worker& worker);
  void RecountRacks();

  // state_rate.cc: statistics of attempts.
  static Rating RatingOf(const StageSpec& spec, const Task& task, const Attempt& attempt, bool sampled);
  static SlotCount SlotsOf(const Worker& worker);
  void Rerate(const AttemptId& id);
  void Rerate(Job& job, const TaskId& id, Attempt& attempt);
  void RerateReported(const AttemptId& id, Attempt& attempt);
  void CountReports(Job& job, uint32_t stage);
  void RerateTask(const TaskId& id);
  void DropStatistics(Job& job);
  void SetSpeculable(const Job& job, uint32_t stage, bool is);
  // state_lists.cc
  void JoinList(Job& job);
  void LeaveList(const Job& job);
  static void CountAttempt(const Attempt& a, std::array<CauseCount, kCauses>* causes);
  static void CountEnd(const Attempt& a, CauseCount* count);  // nothing as long as it has a slot
  static void TakeWishes(const JobSubmitted& event, Job* job);
  // By its present values; no-op where these are as they were.
  void CountGuarantee(Job& job);
  Queue& PutQueue(const std::string& name);
  void JoinQueue(Job& job);
  void LeaveQueue(Job& job);  // no-op where it did before
  // The job out of its queue's indexes (-1), or in by its present values (+1).
  void RankJob(const Job& job, int direction);
  void BuildClasses(Job& job, uint32_t stage);
  void BuildLists(Stage& stage);
  void BuildByInput(Stage& stage);
  void IndexStage(Job& job, uint32_t stage);
  void BuildPartialReaders(Job& job, uint32_t stage);
  void RebuildLists();
  template <class F>
  void LeaveAttempt(Task& task, const AttemptId& id, AttemptState state, Instant now, F&& also);
  void DropReads(const AttemptId& reader);
  void TakeSlot(const AttemptId& id, Attempt& attempt, int direction);
  void RemoveJob(JobId id);
  void PruneEndedJobs();
  void ListReaders(Job& job);
  void IndexRestored(Job& job);

  // What FinishTask compares with, to refresh only what moved.
  struct Before {
    bool committed = false, none_pending = false, complete = false, fetching = false;
  };

  // Jobs asked for lately, by their number's last digits: an event speaks of few jobs, many times.
  static constexpr size_t kLately = 1'024;
  mutable std::array<const Job*, kLately> lately_{};
  uint64_t digest_ = 0;
  uint64_t image_digest_ = 0;  // that a restored image must have
  Before before_;
  bool bulk_ = false;  // IndexStage fills the local lists itself
  Config config_;
  std::map<JobId, Job> jobs_;
  std::map<WorkerId, Worker> workers_;
  std::vector<Worker*> worker_at_;  // by id, as far as ids are dense
  std::vector<RollEntry> roll_;
  std::map<std::string, Queue> queues_;
  std::map<uint64_t, const Queue*> busy_queues_;
  Sharing sharing_;
  std::map<std::string, uint32_t> rack_numbers_;
  std::vector<const std::string*> rack_names_;  // in rack_numbers_
  uint64_t outputs_made_ = 0, outputs_lost_ = 0;
  Facts facts_;
  mutable Lately<Facts> facts_lately_;
  Timers timers_;
  mutable Lately<Timers> timers_lately_;
  uint64_t arrivals_ = 0, offers_ = 0, queue_numbers_ = 0;  // so many were given out
  WorkerId offer_cursor_;
  std::array<Transfers, kMostReaders> transfers_{};
  std::vector<JobId> ended_;  // oldest first
  size_t ended_tasks_ = 0;    // derived: of these

  std::array<std::set<StageKey>, 2> ready_, early_;
  std::set<StageKey> starved_;
  std::map<std::string, JobList> lists_;
  uint64_t lists_count_ = 0;
  std::array<std::map<StageKey, const JobList*>, 2> speculating_;
  std::array<std::set<StageKey>, 2> speculable_;
  std::array<uint32_t, 2> copies_{};
  std::set<AttemptId> lent_;
  std::set<AttemptId> ending_;
  ByDeadline guaranteed_, wanting_, spare_;
  uint32_t within_guarantees_ = 0;
  SlotCount slots_;
  std::vector<RackSlots> racks_;
  std::array<std::set<WorkerId>, 2> free_;
  std::set<std::pair<Instant, TaskId>> held_tasks_;
  std::set<std::pair<Instant, WorkerId>> held_workers_;
  std::set<TaskId> unended_;
  uint64_t work_count_ = 0, wants_count_ = 0;
  uint64_t idle_rounds_ = 0, folds_ = 0;
  FlatSet<StageId> uncounted_;  // that have Stage::uncounted
  mutable uint64_t looks_ = 0;
};

// What is wrong with the state, or "". Walks everything: for tests.
std::string CheckState(const State& state);

}  // namespace mr::sched
