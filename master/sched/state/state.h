// The scheduler's state: the fold of all events and of its own decisions.
//
// Anybody may read it (policies through View, the host's status pages, tests). Only the setters write it. They keep
// three things in step: the digest (a sum of per-entity hashes, so that one change costs one entity), the ordered
// indexes, and the counters. No container here has an order that depends on addresses or on a hash.
//
// Cost: a setter touches what it names. Only EndJob, the removal of an ended job and CheckState walk all tasks or
// attempts.
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
#include "master/sched/event.h"
#include "master/sched/state/entities.h"
#include "master/sched/state/place_cache.h"

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

// A FactKey for lookups, which owns no strings. TimerLess::Name is the same for timers.
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

// A list of policies, and the instant from which it was in force.
struct ListInForce {
  Instant from;
  std::string policies;
  bool operator==(const ListInForce&) const = default;
  template <class V>
  static void Fields(V&& v) {
    v(&ListInForce::from, &ListInForce::policies);
  }
};
inline constexpr size_t kListsKept = 64;  // a guess: more lists than a master gets while it knows a job

// Used without a LeaseSet: the default lease of 10 s and a margin for its end (worker/adr/0003).
inline constexpr Duration kLostWait = Seconds(15);

struct Config {
  bool known = false;
  std::string policies;
  uint64_t seed = 0;
  uint32_t scheduler_version = 0;
  Duration offer_period = Millis(100);
  uint32_t restarts = 0;           // ConfigChanged events after the first
  std::vector<ListInForce> lists;  // the newest kListsKept, each different from the one before; the last is `policies`
  Duration lost_wait = kLostWait;  // set by LeaseSet
  template <class V>
  static void Fields(V&& v) {
    using T = Config;
    v(&T::known, &T::policies, &T::seed, &T::scheduler_version, &T::offer_period, &T::restarts, &T::lists,
      &T::lost_wait);
  }
};

// Environment failures of one task until it is no longer tried where it failed, and fails its job if no other worker
// is left. A guess: with the back-off between them they take 6 s, in which a disk that is full for a moment has been
// emptied.
inline constexpr uint32_t kMaxEnvironmentFailures = 8;
// Charged failures of one task until it waits for a worker on which it failed less, however busy that one is. A
// worker that fails attempts within milliseconds would otherwise use up the job's four tries. A guess: half of them.
inline constexpr uint32_t kFailuresAnywhere = 2;

// A stage in the order in which fifo serves: priority, then arrival, then upstream first.
struct StageKey {
  int64_t rank = 0;  // minus the priority
  uint64_t arrival = 0;
  StageId stage;
  auto operator<=>(const StageKey&) const = default;
};

// Options of the indexes, as the policy list needs them. Derived from Config::policies.
struct Sharing {
  // A stage is early once this share of its upstream tasks is committed, or none of them is pending.
  double slow_start = 1;
  bool by_held = false;     // JobRank::held counts slots; else it is 0, and a job's position in its queue is fixed
  bool by_kind = false;     // it counts slots of the index's kind only
  bool max_shares = false;  // queues' max shares are enforced
  bool by_rack = false;     // Stage::racks and State::racks() are maintained
  bool operator==(const Sharing&) const = default;
};

// The jobs that one list of job-scope policies serves. Derived from the known jobs.
struct JobList {
  std::string text;    // as in Job::policies; "": jobs without a list of their own
  std::string suffix;  // of the owner of these policies' facts and timers; "" if text is ""
  uint32_t jobs = 0;
  StatisticsWanted statistics;                   // wanted by its policies
  std::array<std::set<StageKey>, 2> speculable;  // like State::speculable, for these jobs
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
  // All workers by id, in few bytes: a decision that looks at many finds eight in a cache line.
  const std::vector<RollEntry>& roll() const { return roll_; }
  const Facts& facts() const { return facts_; }
  const Timers& timers() const { return timers_; }
  const std::map<std::string, Queue>& queues() const { return queues_; }
  // Queues with jobs that run or hold slots, by number.
  const std::map<uint64_t, const Queue*>& busy_queues() const { return busy_queues_; }
  const Sharing& sharing() const { return sharing_; }
  // Totals over all workers, also those that are gone.
  uint64_t outputs_made() const { return outputs_made_; }
  uint64_t outputs_lost() const { return outputs_lost_; }
  uint64_t offers() const { return offers_; }
  WorkerId offer_cursor() const { return offer_cursor_; }

  // Return null if there is none.
  const Job* FindJob(JobId id) const;
  const Stage* FindStage(StageId id) const;
  const Task* FindTask(TaskId id) const;
  const Attempt* FindAttempt(const AttemptId& id) const;
  const Worker* FindWorker(WorkerId id) const;
  const FactValue* FindFact(const FactName& key) const;
  const Instant* FindTimer(std::string_view policy, uint64_t id) const;
  const StageSpec& Spec(StageId id) const;

  // ready: stages with a task whose inputs are all there. early: stages with a task that may wait for its inputs on a
  // slot (EarlyDue). starved: ready stages of jobs with attempts that wait for inputs.
  const std::set<StageKey>& ready(SlotKind kind) const { return ready_[KindIndex(kind)]; }
  const std::set<StageKey>& early(SlotKind kind) const { return early_[KindIndex(kind)]; }
  const std::set<StageKey>& starved() const { return starved_; }
  // Stages with a candidate for a speculative attempt; empty unless statistics are kept.
  const std::set<StageKey>& speculable(SlotKind kind) const { return speculable_[KindIndex(kind)]; }
  // Lists by their text: those of the known jobs, and always the cluster's (""). lists_count rises whenever one comes
  // or goes.
  const std::map<std::string, JobList>& lists() const { return lists_; }
  uint64_t lists_count() const { return lists_count_; }
  // Lists with a candidate, by their first stage that has one.
  const std::map<StageKey, const JobList*>& speculating(SlotKind kind) const { return speculating_[KindIndex(kind)]; }
  // Speculative attempts with a slot of this kind, over all lists.
  uint32_t speculative(SlotKind kind) const { return speculative_[KindIndex(kind)]; }
  // Attempts with a slot that was lent to them while it was idle (Cause::kOpportunistic).
  const std::set<AttemptId>& lent() const { return lent_; }
  // Attempts that end: they hold a slot and are not live.
  const std::set<AttemptId>& ending() const { return ending_; }
  // Running jobs with a Job::share, the earliest deadline first. wanting: those with a stage in `ready` that hold
  // fewer slots. spare: those with such a stage that hold at least so many.
  using ByDeadline = std::set<std::pair<Instant, JobId>>;
  const ByDeadline& guaranteed() const { return guaranteed_; }
  const ByDeadline& wanting() const { return wanting_; }
  const ByDeadline& spare() const { return spare_; }
  // Rises whenever a job enters wanting().
  uint64_t wants_count() const { return wants_count_; }
  // Guaranteed slots that these jobs hold.
  uint32_t within_guarantees() const { return within_guarantees_; }
  // Slots of workers that are alive and not draining.
  const SlotCount& slots() const { return slots_; }
  // Slots by rack number (Worker::rack_number); all 0 unless Sharing::by_rack.
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

  // Reads by bound readers, by the number of readers of the same replica meanwhile: one, two, ..., kMostReaders or
  // more.
  static constexpr size_t kMostReaders = 4;
  const std::array<Transfers, kMostReaders>& transfers() const { return transfers_; }

  // Number of rounds of idle offers. Within a round only decisions of policies change the state, so policies may
  // cache.
  uint64_t idle_rounds() const { return idle_rounds_; }
  // Rises with each event and each plan that is folded in, except plans that only write facts and timers. Between two
  // values only facts, timers and the count of offers change.
  uint64_t folds() const { return folds_; }

  // Number of offers, and of workers, places and candidates examined for them: the cost of deciding, the same on any
  // machine. Not part of the state.
  uint64_t looks() const { return looks_; }
  void Look(uint64_t n = 1) const { looks_ += n; }

  // Returns true if all upstream tasks that class `c` reads in full are committed.
  bool FullReady(const Job& job, uint32_t stage, const TaskClass& c) const;
  bool InputsComplete(const Job& job, uint32_t stage, const Task& task) const;
  // Returns true if some task of the stage may have all of its inputs. If false, each lacks one.
  bool AnyFullReady(const Job& job, uint32_t stage) const;
  // Returns the statistics of a stage with every report counted. Const: they follow from the attempts, whenever they
  // are computed.
  const StageStatistics& Counted(const StageId& id) const;
  // Returns true for a live attempt that lacks inputs and cannot get all of them yet.
  bool Waiting(const AttemptId& id) const;
  // UpstreamUnfinished: upstream tasks that are not committed. UpstreamPending: those without a live attempt.
  uint32_t UpstreamUnfinished(const Job& job, uint32_t stage) const;
  uint32_t UpstreamPending(const Job& job, uint32_t stage) const;
  // Returns true if tasks of the stage may start early (Sharing::slow_start).
  bool EarlyDue(const Job& job, uint32_t stage) const;
  JobRank RankOf(const Job& job, size_t kind) const;
  // Returns true if the job's queue holds all that it may, and an attempt of this kind would count as more.
  bool QueueFull(const Job& job, SlotKind kind) const;
  // Returns true if some reader of this output is not committed (waits: and does not run), or its stage is not
  // planned yet.
  bool Needed(const Job& job, const TaskId& id, bool waits = false) const;
  // Checks slots and memory only. free() says which workers are offered at all.
  bool Room(const Worker& w, const SlotUse& used, SlotKind kind, uint64_t memory_bytes) const;
  // Returns the failures of this task that the worker's current incarnation reported.
  uint32_t TimesFailedOn(const Task& task, const Worker& w) const;
  // Returns true if a live attempt of this task is on this worker.
  static bool LiveOn(const Task& task, WorkerId worker) {
    return std::any_of(task.attempts.begin(), task.attempts.end(),
                       [&](const Attempt& a) { return a.live() && a.worker == worker; });
  }
  // Returns true if a new attempt of the task belongs on another worker. A clone does if a live attempt is on this
  // worker, or in its rack while a worker of a rack without one has room. A task that failed here does if another
  // worker has room on which it failed less. Once it is hopeless here (kMaxEnvironmentFailures, kFailuresAnywhere),
  // that worker may be busy.
  bool BelongsElsewhere(const StageSpec& spec, const Task& task, const Worker& w) const;
  // Returns true if an attempt of this task runs in the rack of w, and a free worker of a rack without one could take
  // another. Looks at only so many free workers. A guess: where there are more racks, one of them is soon found.
  static constexpr size_t kWorkersSeenForRacks = 256;
  bool AnotherRackHasRoom(const StageSpec& spec, const Task& task, const Worker& w) const;
  // Returns true if the worker is live, not draining, and large enough for an attempt of this stage.
  bool MayEverRun(const StageSpec& spec, const Worker& w) const;
  // Returns "pending", "running", "waiting", "committed", "failed" or "killed".
  const char* Word(const AttemptId& id) const;
  Replica MakeReplica(const TaskId& id, const ReplicaPlace& place) const;

  // Writing. Requires, for each setter: what it names exists.
  void SetConfig(const ConfigChanged& event, Instant now);
  void SetSharing(const Sharing& sharing);  // walks all running jobs
  void SetQueue(const QueueSet& event);
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
  // Not for fields that indexes or counters use.
  template <class F>
  void EditJob(JobId id, F&& edit) {
    Job& job = JobOf(id);
    digest_ -= Hash(job);
    edit(job);
    digest_ += Hash(job);
  }
  // For a running job: its guarantee (Job::share), its user settings, its prediction.
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
  void SetLease(Duration wait);
  uint32_t AddAttempt(const TaskId& id, WorkerId worker, Cause cause, Instant now, bool by_bind = false);
  // For fields that move no index: progress and times.
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

  void AddReplica(const TaskId& id, const ReplicaPlace& place);
  // Removes the replica. Returns the readers that lose their bind, since their read of it is unfinished.
  std::vector<AttemptId> RemoveReplica(const TaskId& id, const ReplicaPlace& place);

  // Requires: a live by_bind attempt of a running job, and a replica of the task's output.
  void Bind(const AttemptId& reader, const TaskId& output, const ReplicaPlace& replica, bool exclusive, Instant now);
  // Records that `to` was asked for a replica. Requires: an output of a running job.
  void AskReplica(const Replica& from, WorkerId to);
  // Removes that record. Returns false if the worker was not asked to copy this output from this attempt's replica.
  bool EndAsked(const OutputId& output, uint32_t attempt, WorkerId to);
  void DropAsked(const TaskId& task);
  // Marks the read as done: the reader has all bytes. No-op if it has no bind for the output.
  void EndRead(const AttemptId& reader, const TaskId& output);

  void CountTransfer(uint32_t readers, uint64_t bytes, Duration took);
  void SetFact(const FactKey& key, FactValue value);
  void EraseFact(const FactKey& key);
  void SetTimer(const std::string& policy, uint64_t id, Instant at);
  void EraseTimer(const std::string& policy, uint64_t id);
  void BeginIdleRound() { ++idle_rounds_; }
  void CountFold() { ++folds_; }
  void CountOffer(WorkerId launched_on);  // valid id: moves the cursor there

  // Keeps these statistics (statistics.h) for the jobs of this list from here on. Walks these jobs on a change.
  void KeepStatistics(const JobList& list, const StatisticsWanted& wanted);
  // Counts candidates' reports since the last call in the statistics, which do not have them before.
  void CountReports();
  size_t uncounted() const;  // reports that are not counted yet
  // Parts of CheckState.
  std::string CheckStatistics() const;
  std::string CheckLists() const;
  std::string CheckRacks() const;
  std::string CheckGuarantees() const;

  // Computes the digest anew from every entity; tests compare it with Digest().
  uint64_t RecomputeDigest() const;
  // Returns the digest's summands by name ("task job_1_0001/0/7"), to find where two states differ. Slow.
  std::map<std::string, uint64_t> Entities() const;

  // image.cc: see Scheduler::Save and Restore.
  void Save(const std::function<void(std::string)>& part) const;
  Status RestorePart(std::string_view part);
  Status FinishRestore();

 private:
  // Prefetches into the CPU cache; see end.cc.
  void FetchAhead(const std::vector<Task>& tasks, uint32_t t) const;

  Job& JobOf(JobId id);
  Worker& WorkerOf(WorkerId id);
  Stage& StageOf(const TaskId& id);
  Task& TaskOf(const TaskId& id);
  Attempt& AttemptOf(const AttemptId& id);
  static void NoteContent(Stage& stage, uint32_t task);
  Task& BeginTask(const TaskId& id);              // removes it from the indexes and the digest
  void FinishTask(const TaskId& id, Task& task);  // adds it back

  // digest.cc: hashes of everything that is not derived.
  static uint64_t Hash(const Config& config);
  static uint64_t Hash(const Worker& worker);
  static uint64_t Hash(const Queue& queue);
  static uint64_t Hash(const Job& job);
  static uint64_t Hash(const StageId& id, const Stage& stage);
  static uint64_t Hash(const TaskId& id, const Task& task);
  static uint64_t Hash(const TaskId& id, const Attempt& attempt);
  static uint64_t HashButHistory(const TaskId& id, const Attempt& attempt);
  static uint64_t Hash(const TaskId& id, const ReplicaPlace& place);
  static uint64_t Hash(JobId job, const BoundRead& read);
  static uint64_t Hash(JobId job, const AskedReplica& asked);
  static uint64_t Hash(const FactKey& key, const FactValue& value);
  static uint64_t HashTimer(const std::string& policy, uint64_t id, Instant at);
  uint64_t HashCounters() const;
  template <class Visit>
  void EachHash(Visit visit) const;

  // index/ready.cc: everything that is derived.
  bool Schedulable(const Job& job, const StageSpec& spec, const Task& task) const;
  void Index(Job& job, const TaskId& id, Task& task, bool in);
  void PoolInsert(Pool& pool, uint32_t index, const Task& task);
  static void PoolErase(Pool& pool, uint32_t index);
  // Updates readers by partial slices after a task's commit came or went: they miss one input less or more.
  void CommitMoved(const TaskId& id);
  void Refresh(Job& job, uint32_t stage);
  void RefreshAll(Job& job);
  void RefreshWorker(Worker& w);
  Worker& AddWorker(WorkerId id);
  // Returns the rack's number, by order of first use. For indexes only, since it differs after a restore.
  uint32_t RackNumber(const std::string& rack);

  // index/racks.cc: Stage::racks and racks().
  void CountRacks(Stage& stage, const Task& task, int direction) const;
  void CountRack(Worker& worker);
  void RecountRacks();

  // index/rates.cc: statistics of attempts.
  static Rating RatingOf(const StageSpec& spec, const Task& task, const Attempt& attempt, bool sampled);
  static SlotCount SlotsOf(const Worker& worker);
  void Rerate(const AttemptId& id);
  void Rerate(Job& job, const TaskId& id, Attempt& attempt);
  void RerateReported(const AttemptId& id, Attempt& attempt);
  void CountReports(Job& job, uint32_t stage);
  void RerateTask(const TaskId& id);
  void DropStatistics(Job& job);
  void SetSpeculable(const Job& job, uint32_t stage, bool is);
  // index/lists.cc
  void JoinList(Job& job);
  void LeaveList(const Job& job);
  static void CountAttempt(const Attempt& a, std::array<CauseCount, kCauses>* causes);
  static void CountEnd(const Attempt& a, CauseCount* count);  // no-op while it holds a slot
  static void TakeWishes(const JobSubmitted& event, Job* job);
  // Updates the counts from the job's current values. No-op if they are equal.
  void CountGuarantee(Job& job);
  Queue& PutQueue(const std::string& name);
  void JoinQueue(Job& job);
  void LeaveQueue(Job& job);  // no-op if it has left
  // Removes the job from its queue's indexes (-1), or adds it by its current values (+1).
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

  // Values before an edit, so that FinishTask refreshes only what changed.
  struct Before {
    bool committed = false, none_pending = false, complete = false, fetching = false;
  };

  // Recently found jobs, by their number's last digits: events name few jobs, many times.
  static constexpr size_t kRecentJobs = 1'024;
  mutable std::array<const Job*, kRecentJobs> recent_jobs_{};
  uint64_t digest_ = 0;
  uint64_t image_digest_ = 0;  // expected digest of a restored image
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
  std::vector<const std::string*> rack_names_;  // keys of rack_numbers_
  uint64_t outputs_made_ = 0, outputs_lost_ = 0;
  Facts facts_;
  mutable PlaceCache<Facts> found_facts_;
  Timers timers_;
  mutable PlaceCache<Timers> found_timers_;
  uint64_t arrivals_ = 0, offers_ = 0, queue_numbers_ = 0;  // numbers given out so far
  WorkerId offer_cursor_;
  std::array<Transfers, kMostReaders> transfers_{};
  std::vector<JobId> ended_;  // oldest first
  size_t ended_tasks_ = 0;    // derived: tasks of these jobs

  std::array<std::set<StageKey>, 2> ready_, early_;
  std::set<StageKey> starved_;
  std::map<std::string, JobList> lists_;
  uint64_t lists_count_ = 0;
  std::array<std::map<StageKey, const JobList*>, 2> speculating_;
  std::array<std::set<StageKey>, 2> speculable_;
  std::array<uint32_t, 2> speculative_{};
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
  FlatSet<StageId> uncounted_;  // stages with Stage::uncounted
  mutable uint64_t looks_ = 0;
};

// Returns an error in the state, or "". Walks everything: for tests.
std::string CheckState(const State& state);

}  // namespace mr::sched
