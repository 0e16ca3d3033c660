// The entities of the scheduler's state, its policies' facts and timers, and the digest over all of them.
//
// The lowest layer of State (state.h). Each index is a layer of its own above it (index/); they hold what is derived
// from entities, and only State's setters change an entity, its digest and its indexes together.
#pragma once

#include <algorithm>
#include <array>
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
#include "master/sched/state/named_map.h"

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
inline constexpr size_t kListsKept = 64;  // a guess: more than a master gets while one job is known

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

// Environment failures of one task, after which its job fails if several workers failed it, or no other is left. A
// guess: with the back-off between them they take 6 s, time enough to empty a disk that is full for a moment.
inline constexpr uint32_t kMaxEnvironmentFailures = 8;
// Charged failures of one task after which it waits for a worker on which it failed less, however busy that one is. A
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
  bool spare_last = false;  // jobs at their guarantee are in no index of their queue, and their slots count for none
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

class EntityStore {
 public:
  EntityStore(const EntityStore&) = delete;
  EntityStore& operator=(const EntityStore&) = delete;

  uint64_t Digest() const { return digest_; }
  const Config& config() const { return config_; }
  const std::map<JobId, Job>& jobs() const { return jobs_; }
  const std::map<WorkerId, Worker>& workers() const { return workers_; }
  // All workers by id, in few bytes: a decision that looks at many finds eight in a cache line.
  const std::vector<RollEntry>& roll() const { return roll_; }
  const Facts& facts() const { return facts_.All(); }
  const Timers& timers() const { return timers_.All(); }
  const std::map<std::string, Queue>& queues() const { return queues_; }
  uint64_t offers() const { return offers_; }
  WorkerId offer_cursor() const { return offer_cursor_; }
  // Reads by bound readers, by the number of readers of the same replica meanwhile: one, two, ..., kMostReaders or
  // more.
  static constexpr size_t kMostReaders = 4;
  const std::array<Transfers, kMostReaders>& transfers() const { return transfers_; }

  // Return null if there is none.
  const Job* FindJob(JobId id) const;
  const Stage* FindStage(StageId id) const;
  const Task* FindTask(TaskId id) const;
  const Attempt* FindAttempt(const AttemptId& id) const;
  const Worker* FindWorker(WorkerId id) const;
  const FactValue* FindFact(const FactName& key) const;
  const Instant* FindTimer(std::string_view policy, uint64_t id) const;
  const StageSpec& Spec(StageId id) const;

  // Checks slots and memory only. WorkerIndex::free says which workers are offered at all.
  static bool Room(const Worker& w, const SlotUse& used, SlotKind kind, uint64_t memory_bytes);
  // Returns the failures of this task that the worker's current incarnation reported.
  static uint32_t TimesFailedOn(const Task& task, const Worker& w);
  // Returns true if a live attempt of this task is on this worker.
  static bool LiveOn(const Task& task, WorkerId worker) {
    return std::any_of(task.attempts.begin(), task.attempts.end(),
                       [&](const Attempt& a) { return a.live() && a.worker == worker; });
  }

  // Number of rounds of idle offers. Within a round only decisions of policies change the state, so policies may
  // cache.
  uint64_t idle_rounds() const { return idle_rounds_; }
  bool in_idle_round() const { return in_idle_round_; }
  // Stages whose tasks or statistics changed in this round, in the order of the changes. May repeat.
  const std::vector<StageKey>& moved() const { return moved_; }
  // Rises with each event and each plan that is folded in, except plans that only write facts and timers. Between two
  // values only facts, timers and the count of offers change.
  uint64_t folds() const { return folds_; }
  // Rises with each change of a fact that is a real number. Most changes of facts are counts of integers.
  uint64_t real_facts() const { return real_facts_; }
  // Number of offers, and of workers, places and candidates examined for them: the cost of deciding, the same on any
  // machine. Not part of the state.
  uint64_t looks() const { return looks_; }
  void Look(uint64_t n = 1) const { looks_ += n; }

  void SetFact(const FactKey& key, FactValue value);
  void EraseFact(const FactKey& key);
  void SetTimer(const std::string& policy, uint64_t id, Instant at);
  void EraseTimer(const std::string& policy, uint64_t id);
  void BeginIdleRound() {
    ++idle_rounds_;
    in_idle_round_ = true;
    moved_.clear();
  }
  void EndIdleRound() { in_idle_round_ = false; }
  void CountFold() { ++folds_; }
  void CountOffer(WorkerId launched_on);  // valid id: moves the cursor there

  // Computes the digest anew from every entity; tests compare it with Digest().
  uint64_t RecomputeDigest() const;
  // Returns the digest's summands by name ("task job_1_0001/0/7"), to find where two states differ. Slow.
  std::map<std::string, uint64_t> Entities() const;

 protected:
  EntityStore();
  ~EntityStore();

  // Requires: it exists.
  Job& JobOf(JobId id);
  Worker& WorkerOf(WorkerId id);
  Stage& StageOf(const TaskId& id);
  Task& TaskOf(const TaskId& id);
  Attempt& AttemptOf(const AttemptId& id);
  Worker& AddWorker(WorkerId id);
  void NoteMoved(const Job& job, uint32_t stage) {
    if (in_idle_round_) moved_.push_back({-int64_t{job.priority}, job.arrival, {job.id, stage}});
  }
  // Returns the slots that the worker adds to those of the cluster.
  static SlotCount SlotsOf(const Worker& worker);

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
  static uint64_t HashButValue(const FactKey& key);
  static uint64_t WithValue(uint64_t key_hash, const FactValue& value);
  static uint64_t HashTimer(const std::string& policy, uint64_t id, Instant at);
  uint64_t HashCounters() const;

  // Recently found jobs, by their number's last digits: events name few jobs, many times.
  static constexpr size_t kRecentJobs = 1'024;
  mutable std::array<const Job*, kRecentJobs> recent_jobs_{};
  uint64_t digest_ = 0;
  Config config_;
  std::map<JobId, Job> jobs_;
  std::map<WorkerId, Worker> workers_;
  std::vector<Worker*> worker_at_;  // by id, as far as ids are dense
  std::vector<RollEntry> roll_;
  std::map<std::string, Queue> queues_;
  NamedMap<Facts, 3> facts_;                                // texts: policy, scope, name
  NamedMap<Timers, 1> timers_;                              // text: policy
  uint64_t arrivals_ = 0, offers_ = 0, queue_numbers_ = 0;  // numbers given out so far
  WorkerId offer_cursor_;
  std::array<Transfers, kMostReaders> transfers_{};
  std::vector<JobId> ended_;  // oldest first

 private:
  template <class Visit>
  void EachHash(Visit visit) const;

  uint64_t idle_rounds_ = 0, folds_ = 0, real_facts_ = 0;
  bool in_idle_round_ = false;
  std::vector<StageKey> moved_;
  void CountReal(const FactValue& value) { real_facts_ += std::holds_alternative<double>(value); }
  mutable uint64_t looks_ = 0;
};

}  // namespace mr::sched
