// Records of the state: workers, jobs, stages, tasks, attempts. Any code may read them. Only State writes them, since
// each change must also move the digest and the indexes. Fields() lists what is not derived, and image.cc makes
// the state's image from it.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "master/sched/event.h"
#include "master/sched/index/index_set.h"
#include "master/sched/index/local_lists.h"
#include "master/sched/index/ranked.h"
#include "master/sched/index/statistics.h"
#include "master/sched/model.h"
#include "master/sched/state/bindings.h"
#include "master/sched/state/flat_set.h"
#include "master/sched/state/lazy_set.h"
#include "master/sched/state/replica_place.h"

namespace mr::sched {

enum class JobState : uint8_t { kRunning = 1, kSucceeded = 2, kFailed = 3, kKilled = 4 };

// kPending: no live attempt. kRunning: at least one. kCommitted: an attempt may be making its output a second time
// (Plan::Remake).
enum class TaskState : uint8_t { kPending = 1, kRunning = 2, kCommitted = 3 };

// kEnding: Kill or TakeBack is under way, and the slot is still taken. kDiscarded: its report was refused, or its
// worker did not start it.
enum class AttemptState : uint8_t {
  kLaunched = 1,
  kRunning = 2,
  kEnding = 3,
  kCommitted = 4,
  kDiscarded = 5,
  kFailed = 6,
  kKilled = 7,
};

// One progress report. Half a cache line, since eight of them are a third of a running task's memory.
struct Sample {
  Sample() = default;
  Sample(Instant when, uint8_t of_phase, uint64_t taken, uint64_t total, uint64_t n)
      : at(when),
        taken_bytes(taken),
        total_bytes(total),
        records(static_cast<uint32_t>(std::min<uint64_t>(n, UINT32_MAX))),
        phase(of_phase) {}
  Instant at;
  uint64_t taken_bytes = 0, total_bytes = 0;
  uint32_t records = 0;  // at most 2^32 - 1, where it saturates
  uint8_t phase = 0;
  uint64_t taken_by_operator() const { return phase == kShufflePhase ? 0 : taken_bytes; }
  template <class V>
  static void Fields(V&& v) {
    using T = Sample;
    v(&T::at, &T::phase, &T::taken_bytes, &T::total_bytes, &T::records);
  }
};

struct Attempt {
  uint32_t number = 0;
  uint32_t generation = 1;  // of the output that it makes
  WorkerId worker;
  Incarnation incarnation = 0;
  Cause cause = Cause::kFirst;
  AttemptState state = AttemptState::kLaunched;
  FailureKind failure = FailureKind::kUser;  // where state is kFailed or kKilled
  bool inputs_done = false;                  // it has read all upstream inputs
  bool taken_back = false;
  bool spared = false;     // slow only because of its input; Plan::Spare has reported so
  bool by_bind = false;    // reads only the replicas that Bind names
  bool uncounted = false;  // derived: `rating` is from before the last report
  Instant launched_at, started_at, first_byte_at, inputs_done_at, ended_at;  // 0 = not yet
  Instant sort_at, reduce_at;  // first report of its second and of its third phase; 0 = none yet
  Duration ran, waited;
  uint64_t history = 0;         // hash over all samples, also those no longer kept
  std::vector<Sample> samples;  // the last 8 while it is live, the last one afterwards
  Rating rating;                // derived

  bool live() const { return state == AttemptState::kLaunched || state == AttemptState::kRunning; }
  bool holds_slot() const { return live() || state == AttemptState::kEnding; }
  template <class V>
  static void Fields(V&& v) {
    using T = Attempt;
    v(&T::number, &T::generation, &T::worker, &T::incarnation, &T::cause, &T::state, &T::failure, &T::inputs_done,
      &T::taken_back, &T::launched_at, &T::started_at, &T::first_byte_at, &T::inputs_done_at, &T::ended_at, &T::ran,
      &T::waited, &T::history, &T::samples, &T::spared, &T::sort_at, &T::reduce_at, &T::by_bind);
  }
};

// Returns the progress score of a live or committed attempt, in billionths. Map: the share of its input that it has
// taken. Reduce: (copy + sort + reduce) / 3, each such a share. 0 if no total is known.
int64_t ScoreOf(const Attempt& attempt);
// Returns the share of its phase that is done; 0 if no total is known.
double PhaseShare(const Sample& sample);

// A replica as its worker identifies it.
struct ReplicaKey {
  TaskId task;
  uint32_t attempt = 0;
  // A comparison of three words: by member, which gcc does not inline, it costs 4 % of a busy scheduler.
  friend bool operator<(const ReplicaKey& a, const ReplicaKey& b) {
    const auto job = [](const ReplicaKey& k) { return uint64_t{k.task.job.epoch} << 32 | k.task.job.seq; };
    const auto task = [](const ReplicaKey& k) { return uint64_t{k.task.stage} << 32 | k.task.task; };
    if (job(a) != job(b)) return job(a) < job(b);
    return task(a) != task(b) ? task(a) < task(b) : a.attempt < b.attempt;
  }
};

// An attempt, ordered by its launch time.
struct LaunchKey {
  Instant at;
  AttemptId attempt;
  friend bool operator<(const LaunchKey& a, const LaunchKey& b) {
    if (a.at != b.at) return a.at < b.at;
    return ReplicaKey{a.attempt.task, a.attempt.number} < ReplicaKey{b.attempt.task, b.attempt.number};
  }
  bool operator==(const LaunchKey&) const = default;
};

// Failures of a task that one incarnation of a worker reported, since the task last committed.
struct FailedOn {
  WorkerId worker;
  Incarnation incarnation = 0;
  uint32_t times = 0;
  bool environment = false;  // at least one was the environment's
  bool operator==(const FailedOn&) const = default;
  template <class V>
  static void Fields(V&& v) {
    v(&FailedOn::worker, &FailedOn::incarnation, &FailedOn::times, &FailedOn::environment);
  }
};

// An attempt that may still run although no slot counts it: its worker was lost with it, or another release of the
// master launched it. Kept only for tasks with side effects, which have no live attempt meanwhile.
struct Unended {
  uint32_t number = 0;  // 0: not known
  WorkerId worker;      // invalid: not known
  Incarnation incarnation = 0;
  Instant until;  // it has ended by then; 0: its worker registered with it and will report its end
  bool operator==(const Unended&) const = default;
  template <class V>
  static void Fields(V&& v) {
    v(&Unended::number, &Unended::worker, &Unended::incarnation, &Unended::until);
  }
};

struct Task {
  TaskPlan plan;
  TaskState state = TaskState::kPending;
  bool lost = false;         // pending because its committed output was lost
  bool has_content = false;  // `manifest` is what readers may have consumed, also while the output is made again
  uint32_t generation = 1;   // of the committed or next output
  uint32_t next_number = 1;
  uint32_t wanted = 1;                // number of attempts that should be live (clones: more than 1)
  uint32_t wanted_replicas = 1;       // of its output; clones run on after the commit until it has so many
  uint32_t live = 0;                  // attempts launched or running
  uint32_t holding = 0;               // attempts with a slot: live or ending
  uint32_t failures = 0;              // charged to the user
  uint32_t other_failures = 0;        // all others
  uint32_t environment_failures = 0;  // of these, the environment's since the last commit
  uint32_t winner = 0;                // attempt number; 0 = none
  Manifest manifest;
  Instant pending_since;
  Instant held_until;  // back-off after a failure: no launch before; 0 = not held
  std::vector<Attempt> attempts;
  std::vector<ReplicaPlace> replicas;
  std::vector<FailedOn> failed_on;
  std::vector<Unended> unended;  // only of a running job; while there is any, nothing is launched
  // Derived: missing inputs among those read from some, not all, tasks of an upstream stage.
  uint32_t partial_missing = 0;
  uint32_t task_class = 0;
  template <class V>
  static void Fields(V&& v) {
    using T = Task;
    v(&T::plan, &T::state, &T::lost, &T::has_content, &T::generation, &T::next_number, &T::wanted, &T::live,
      &T::holding, &T::failures, &T::other_failures, &T::winner, &T::manifest, &T::pending_since, &T::held_until,
      &T::attempts, &T::replicas, &T::environment_failures, &T::failed_on, &T::wanted_replicas, &T::unended);
  }
};

// Returns the failures of the task since it last committed, on all workers.
uint32_t TimesFailed(const Task& task);
// A task with this many failures gets no further clone. A guess: one failure may be the worker's fault.
inline constexpr uint32_t kFailuresOfCloned = 2;
// Whether the task has or had a speculative attempt in this generation. Attempts that were discarded, or lost with a
// worker or an input, do not count.
enum class Speculated { kNever, kKilled, kOnce };  // kKilled: one, which was killed
Speculated SpeculatedOn(const Task& task);
// Returns true if this live attempt is a clone on a lent slot (Cause::kOpportunistic) and may be ended at any time.
// It then runs beside a live attempt that is no such clone, or that is older. The only attempt of a task is never
// one.
bool CanDoWithout(const Task& task, const Attempt& a);
// Returns the number of live attempts of the task without such clones.
uint32_t OwnLive(const Task& task);
// Returns the size of the attempt's input; 0 if it is not known.
inline uint64_t InputBytes(const Task& task, const Attempt& a) {
  return std::max(task.plan.input_bytes, a.samples.empty() ? 0 : a.samples.back().total_bytes);
}

// Schedulable tasks whose partial inputs are all there, in the sets that policies search.
struct Pool {
  IndexSet retry, fresh;          // without a live attempt: ran before; never ran
  IndexSet clones;                // with a live attempt, eligible for another
  LocalLists by_worker, by_rack;  // all of them; places: values of worker ids; State::RackNumber
  uint32_t size() const { return pending() + clones.size(); }
  uint32_t pending() const { return retry.size() + fresh.size(); }
  bool Contains(uint32_t task) const { return retry.Contains(task) || fresh.Contains(task) || clones.Contains(task); }
};

// Tasks of one stage that read the same upstream stages in full. Most stages have one class; stages with split large
// partitions have more.
struct TaskClass {
  uint64_t full_inputs = 0;  // bit i: reads every upstream task of input i
  uint32_t uncommitted = 0;
  Pool ready;
  IndexSet blocked;  // schedulable, but a partial input is missing
  // Live attempts that lack inputs; [1]: those of tasks that miss a partial input.
  std::array<std::set<AttemptKey>, 2> fetching;
};

// Tasks of one stage that read this stage through slices that do not span it.
struct PartialReaders {
  uint32_t stage = 0;           // the reading stage
  std::vector<uint32_t> begin;  // readers of task t: [begin[t], begin[t + 1])
  std::vector<uint32_t> readers;
};

// Content that readers of a task may have consumed. Kept outside Task, since a report of a reduce names thousands.
struct Content {
  Digest128 digest;
  uint32_t generation = 0;  // 0: Task::has_content is not set
};

enum class PlanState : uint8_t { kNotAsked = 1, kAsked = 2, kPlanned = 3 };

// A rack's part of a stage: outputs with their first replica there, their bytes, and attempts there that are live or
// have committed.
struct RackShare {
  uint64_t bytes = 0;
  uint32_t outputs = 0, attempts = 0;
  uint32_t begun() const { return std::max(attempts, outputs); }
  bool operator==(const RackShare&) const = default;
};

struct Stage {
  PlanState plan_state = PlanState::kNotAsked;
  uint32_t partitions = 0;
  bool indeterminate = false;
  uint64_t plan_hash = 0;
  std::vector<Task> tasks;
  // Derived.
  uint32_t committed = 0, pending = 0;
  uint32_t cloned = 0;  // uncommitted tasks that want more than one attempt
  uint32_t timed = 0;   // committed tasks with a known run time
  Duration ran;         // sum of these run times (RunTime in job_profile.h)
  bool in_ready = false, in_early = false, in_starved = false, in_placed = false;
  std::vector<TaskClass> classes;
  std::vector<uint32_t> readers;  // stages that read this one, ascending, once each
  std::vector<PartialReaders> partial_readers;
  LazySet<AttemptKey> active;     // attempts with a slot
  uint64_t edits = 0;             // changes of its tasks so far
  std::vector<Content> contents;  // by task
  std::set<uint32_t> bare;        // committed tasks without a replica, which no reader needs
  std::vector<RackShare> racks;   // by State::RackNumber, missing ones are all 0; only with Sharing::by_rack
  uint32_t racks_used = 0;        // number of racks that are not all 0
  uint64_t begun_in_racks = 0;    // sum of RackShare::begun
  RackShare InRack(uint32_t number) const { return number < racks.size() ? racks[number] : RackShare{}; }
  StageStatistics statistics;
  std::vector<AttemptKey> uncounted;  // attempts whose last report is not in the statistics yet; repeats are allowed
  // Empty if all inputs have one size. by_input: all tasks, the largest input first. input_place: each task's
  // position there. waiting_by_input: the positions of ready tasks that never ran.
  std::vector<uint32_t> by_input, input_place;
  IndexSet waiting_by_input;

  bool planned() const { return plan_state == PlanState::kPlanned; }
  bool complete() const { return planned() && committed == tasks.size(); }
  template <class V>
  static void Fields(V&& v) {
    using T = Stage;
    v(&T::plan_state, &T::partitions, &T::indeterminate, &T::plan_hash, &T::tasks);
  }
};

struct JobList;  // state.h
struct Queue;

// Counts for a running job with a Job::share. held: slots; with Sharing::by_kind, slots for maps only.
struct GuaranteeCount {
  enum class Place : uint8_t { kNone, kWanting, kSpare };  // in State::wanting, in State::spare
  bool listed = false;
  Place place = Place::kNone;
  Instant due;
  uint32_t held = 0, within = 0;  // within: those of them that are guaranteed
  uint32_t outside = 0;           // those that count for no queue: `within`; with Sharing::spare_last, `held`
  bool operator==(const GuaranteeCount&) const = default;
};

struct Job {
  JobId id;
  std::string name, queue;
  int32_t priority = 0;
  Duration deadline;
  uint32_t max_attempts = 0;
  std::vector<std::string> policies;
  JobGraph graph;
  JobState state = JobState::kRunning;
  std::string message;   // why it failed
  uint64_t arrival = 0;  // 1, 2, ... by submission
  uint32_t restarts_at_submit = 0;
  uint32_t share = 0;  // guaranteed slots, set by a policy; 0: the fair share
  Instant submitted_at, ended_at;
  uint64_t submit_hash = 0;
  std::vector<UtilityPoint> utility;
  Prediction prediction;
  uint64_t prediction_hash = 0;
  std::vector<Stage> stages;
  Bindings bindings;
  std::set<AskedReplica> asked;  // replicas that were asked for and are not answered yet, of current outputs
  // Derived.
  uint32_t holding = 0;      // attempts with a slot
  uint32_t fetching = 0;     // live attempts without all inputs
  uint32_t taking_back = 0;  // attempts being taken back
  uint32_t by_bind = 0;      // live attempts with Attempt::by_bind
  JobStatistics statistics;
  std::array<CauseCount, kCauses> causes{};
  const JobList* list = nullptr;                                   // the policies that serve it
  Queue* in_queue = nullptr;                                       // its queue, while the job runs or holds slots
  std::array<uint32_t, 2> held{}, ready_stages{}, early_stages{};  // by slot kind
  GuaranteeCount guarantee;
  bool running() const { return state == JobState::kRunning; }
  // Returns the deadline as an instant; the latest Instant if there is none.
  Instant due() const { return deadline.ns > 0 ? submitted_at + deadline : Instant{INT64_MAX}; }
  template <class V>
  static void Fields(V&& v) {
    using T = Job;
    // Without bindings and asked, which are sets: the image stores them as lists.
    v(&T::id, &T::name, &T::queue, &T::priority, &T::deadline, &T::max_attempts, &T::policies, &T::graph, &T::state,
      &T::message, &T::arrival, &T::restarts_at_submit, &T::share, &T::submitted_at, &T::ended_at, &T::submit_hash,
      &T::stages, &T::utility, &T::prediction, &T::prediction_hash);
  }
};

// AtGuarantee: returns true if the job has a guarantee and holds at least that many slots. BelowGuarantee: holds fewer.
inline bool AtGuarantee(const Job& job) { return job.share > 0 && job.holding >= job.share; }
inline bool BelowGuarantee(const Job& job) { return job.holding < job.share; }

// A job in the order in which fair serves the jobs of a queue: priority, then fewest slots held, then
// arrival.
struct JobRank {
  int64_t rank = 0;  // minus the priority
  uint32_t held = 0;
  uint64_t arrival = 0;
  JobId job;
  // Arrivals are unique. A comparison by member, which gcc does not inline, costs 2 % of a busy scheduler.
  friend bool operator<(const JobRank& a, const JobRank& b) {
    if (a.rank != b.rank) return a.rank < b.rank;
    return a.held != b.held ? a.held < b.held : a.arrival < b.arrival;
  }
  auto operator<=>(const JobRank&) const = default;
};

// A queue. It stays while an operator's settings differ from the defaults; otherwise it goes with its last job that ran
// or held slots.
struct Queue {
  std::string name;
  uint64_t number = 0;  // 1, 2, ... by creation; never reused
  bool set = false;     // by an operator, to other values than the defaults
  double weight = 1;
  uint32_t min_share = 0, max_share = 0;  // slots; 0 = none, no limit
  // Derived. jobs: those that run or hold slots. The arrays are by slot kind. held: slots. ready, early: jobs with a
  // stage in State::ready or State::early. spare_ready, spare_early: number of such jobs at their guarantee, which
  // are not in ready or early (Sharing::spare_last).
  uint32_t jobs = 0;
  std::array<uint32_t, 2> held{};
  std::array<Ranked<JobRank>, 2> ready, early;
  std::array<uint32_t, 2> spare_ready{}, spare_early{};
  uint32_t guaranteed = 0;  // slots that do not count for it (GuaranteeCount::outside)
  LazySet<LaunchKey> live;

  uint32_t held_total() const { return held[0] + held[1]; }
  bool has_ready(size_t kind) const { return !ready[kind].empty() || spare_ready[kind] > 0; }
  bool has_early(size_t kind) const { return !early[kind].empty() || spare_early[kind] > 0; }
  bool has_ready() const { return has_ready(0) || has_ready(1); }
  template <class V>
  static void Fields(V&& v) {
    using T = Queue;
    v(&T::name, &T::number, &T::weight, &T::min_share, &T::max_share, &T::set);
  }
};

struct SlotUse {
  std::array<uint32_t, 2> slots{};  // by kind
  uint64_t memory = 0;
  bool operator==(const SlotUse&) const = default;
};

// Slots of live workers that do not drain. by_kind: those whose caps admit the kind.
struct SlotCount {
  uint32_t total = 0;
  std::array<uint32_t, 2> by_kind{};
  bool operator==(const SlotCount&) const = default;
};

// Slots of one rack's live workers that do not drain, and the free ones, by kind.
struct RackSlots {
  std::array<uint32_t, 2> slots{}, free{};
  bool operator==(const RackSlots&) const = default;
};

struct Worker {
  WorkerId id;
  Incarnation incarnation = 0;
  bool alive = false;
  bool draining = false;
  Instant held_until;  // 0 = not held; no offers before
  std::string address, rack;
  Slots slots;
  uint64_t memory_bytes = 0;
  std::vector<std::string> labels;
  uint64_t fixed_hash = 0;                                       // hash of the registration
  uint64_t fetched_bytes = 0, fetch_us = 0, fetch_failures = 0;  // of reads that it served
  uint64_t refused = 0;  // launches that it did not start, over all incarnations
  // Outputs that could be read here, and those lost while their job ran; over all incarnations.
  uint64_t outputs_made = 0, outputs_lost = 0;
  uint32_t refused_in_row = 0;  // refused launches since it last started one
  // Derived.
  uint32_t rack_number = 0;  // State::RackNumber
  uint32_t in_roll = 0;      // its index in State::roll()
  SlotUse used;
  std::array<bool, 2> is_free{};                // by kind: it is in State::free
  FlatSet<AttemptId> attempts;                  // with a slot here
  LazySet<ReplicaKey> replicas;                 // outputs that can be read here
  SlotCount counted;                            // its part of State::slots()
  uint64_t counted_made = 0, counted_lost = 0;  // its part of State::outputs_made() and outputs_lost()
  RackSlots in_rack;                            // its part of State::racks()[counted_rack]
  uint32_t counted_rack = 0;

  uint32_t used_total() const { return used.slots[0] + used.slots[1]; }
  template <class V>
  static void Fields(V&& v) {
    using T = Worker;
    v(&T::id, &T::incarnation, &T::alive, &T::draining, &T::held_until, &T::address, &T::rack, &T::slots,
      &T::memory_bytes, &T::labels, &T::fixed_hash, &T::fetched_bytes, &T::fetch_us, &T::fetch_failures, &T::refused,
      &T::refused_in_row, &T::outputs_made, &T::outputs_lost);
  }
};

// A worker in State::roll().
struct RollEntry {
  WorkerId id;
  bool takes_work = false;        // it is alive and not draining
  std::array<bool, 2> is_free{};  // Worker::is_free
  bool operator==(const RollEntry&) const = default;
};

inline constexpr SlotKind kSlotKinds[] = {SlotKind::kMap, SlotKind::kReduce};
// Index of a slot kind in arrays.
inline size_t KindIndex(SlotKind kind) { return kind == SlotKind::kMap ? 0 : 1; }

}  // namespace mr::sched
