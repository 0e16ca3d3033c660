// Statistics of a stage and of a job for speculation: how fast attempts are against each other. Derived from
// attempts, so neither hashed nor saved. The state's setters maintain them (rates.h) while a policy of the list
// wants them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "common/base/ids.h"
#include "common/base/time.h"
#include "master/sched/index/late_ranked.h"
#include "master/sched/index/ranked.h"

namespace mr::sched {

// Progress scores are integers, in billionths, so that sums do not depend on the order of additions.
inline constexpr int64_t kWholeScore = 1'000'000'000;

using AttemptKey = std::pair<uint32_t, uint32_t>;  // task, number

// The statistics that the policies of a list want. Each costs one or two searches in an order for every attempt that
// starts, reports and ends.
struct StatisticsWanted {
  bool any = false;          // statistics without a flag of their own
  bool speculation = false;  // no statistics: a policy of the list speculates, and room is left for that
  bool scores = false;       // StageStatistics::by_score
  bool rates = false;        // by_rate, rates, ends
  bool workers = false;      // JobStatistics
  bool costs = false;        // told, costs, wrapups, by_worker
  friend StatisticsWanted operator|(const StatisticsWanted& a, const StatisticsWanted& b) {
    return {a.any || b.any,     a.speculation || b.speculation, a.scores || b.scores,
            a.rates || b.rates, a.workers || b.workers,         a.costs || b.costs};
  }
  StatisticsWanted& operator|=(const StatisticsWanted& b) { return *this = *this | b; }
  bool operator==(const StatisticsWanted&) const = default;
};

// One attempt's values in the statistics of its stage.
struct Rating {
  bool running = false, finished = false;
  bool candidate = false;  // it runs alone, and its task may get a speculative attempt
  // It runs, it is the only live attempt of its task except clones on lent slots, and the task may speculate or
  // restart.
  bool alone = false;
  bool sampled = false;  // it is in the sample of the stage (kCostsKept)
  bool paced = false;    // a candidate that has a Pace (estimate.h)
  double rate = 0;       // score per second when it last reported; 0 = not known
  int64_t score = 0;     // billionths
  int64_t started = 0;   // ns
  int64_t lasted = 0;    // ns, of finished ones
  // ns: last report, or start, of an attempt that runs alone although its task had a speculative attempt, which was
  // killed. 0 = it is none.
  int64_t reported = 0;
  uint64_t bytes = 0;  // of its input, of finished ones; 0 = not known
  double cost = 0;     // ns per byte of its input, measured or predicted; 0 = not known
  // ns per byte of its whole input, without the wait for inputs. For a running attempt it is predicted once the
  // attempt has reported enough (State::RatingOf). 0 = not known.
  double told = 0;
  int64_t work = 0;    // ns, of finished ones: `lasted` without the wait for inputs
  int64_t wrapup = 0;  // ns, of finished ones: from the last byte of input to the end
  int64_t lag = 0;     // ns: from launch to start
  // ns of each phase of a reduce, from begin to end: measured, or by its rate in the current phase. 0 = not known.
  std::array<int64_t, 3> phases{};
  bool operator==(const Rating&) const = default;
};

// Time and input of finished attempts on one worker.
struct WorkDone {
  int64_t ns = 0;
  uint64_t bytes = 0;
  bool operator==(const WorkDone&) const = default;
};

// WorkDone by worker. Written with each end of an attempt and seldom read, so writes are kept aside: a search for each
// worker's entry would miss the cache on each level.
class WorkByWorker {
 public:
  void Add(WorkerId worker, int64_t ns, uint64_t bytes) {
    kept_.push_back({worker, {ns, bytes}});
    if (kept_.size() >= kKept + settled_.size() / kKept) Settle();
  }
  // Returns zeros if nothing with a known input has finished there.
  WorkDone Find(WorkerId worker) const;
  // Returns the entries that are not zero, in the order of the workers. Cost: copies and sorts; for checks.
  std::vector<std::pair<WorkerId, WorkDone>> All() const;

 private:
  static constexpr size_t kKept = 64;  // a guess, as in LateRanked
  using Entry = std::pair<WorkerId, WorkDone>;
  void Settle();

  std::vector<Entry> settled_;  // ascending, once for each worker
  std::vector<Entry> kept_;     // changes, the oldest first
};

// Size of the sample of costs that a larger stage keeps. Tasks are chosen by number, so the sample does not depend on
// the order in which they end.
inline constexpr uint32_t kCostsKept = 1024;

struct StageStatistics {
  uint64_t changes = 0;  // rises with each change of the rest
  // Candidates (Rating::candidate).
  LateRanked<std::pair<double, AttemptKey>> by_rate;  // only known rates
  LateRanked<std::pair<int64_t, AttemptKey>> by_score;
  Ranked<std::pair<int64_t, AttemptKey>> by_start;
  uint32_t paced = 0;  // those with Rating::paced
  // Attempts with Rating::reported, the longest silent first.
  Ranked<std::pair<int64_t, AttemptKey>> by_report;
  // Running and finished attempts.
  LateRanked<double> rates;  // only known rates
  int64_t scores = 0;        // sum of their scores
  uint32_t running = 0;
  int64_t lag_ns = 0;                 // sum of their lags
  uint32_t sampled = 0;               // attempts in the sample
  LateRanked<double> told;            // ns per byte, of those in the sample that report it
  std::array<int64_t, 3> phase_ns{};  // sum over attempts with a known time of the phase (Rating::phases)
  std::array<uint32_t, 3> phase_n{};  // number of these attempts
  // Finished attempts.
  LateRanked<int64_t> durations;  // ns
  LateRanked<int64_t> ends;       // ns: when they ended
  int64_t measured_ns = 0;        // durations of those with a known input
  uint64_t measured_bytes = 0;    // their input
  int64_t measured_work = 0;      // their durations without the wait for inputs
  uint32_t measured = 0;          // their number
  int64_t wrapup_ns = 0;          // sum over all finished ones
  Ranked<double> costs;           // ns per byte, of the sample
  Ranked<int64_t> wrapups;        // ns, of the sample
  WorkByWorker by_worker;         // those with a known input
  // Attempts with Rating::alone, the most expensive first: (-cost, attempt).
  Ranked<std::pair<double, AttemptKey>> by_cost;
  // Tasks that want one attempt and have several live ones, without clones on lent slots.
  std::set<uint32_t> doubled;

  // Returns true if a running attempt of the stage may get a speculative attempt.
  bool speculable() const { return !by_start.empty() || !by_report.empty() || !by_cost.empty() || !doubled.empty(); }
};

struct WorkerProgress {
  int64_t scores = 0;     // sum over running and finished attempts there
  uint32_t attempts = 0;  // their number
  bool operator==(const WorkerProgress&) const = default;
};

// Progress of a job on each worker. Like LateRanked, it keeps writes aside until a read: a job writes with each start,
// report and end, and is read only while slots are idle. Not safe for concurrent use, not even for reads.
class ProgressByWorker {
 public:
  void Add(WorkerId worker, int64_t scores, int attempts) {
    kept_.push_back({worker, scores, attempts});
    if (kept_.size() >= kKept) Settle();
  }
  // Returns null if nothing of the job runs there or has finished there.
  const WorkerProgress* Find(WorkerId worker) const {
    Settle();
    const auto it = progress_.find(worker);
    return it == progress_.end() ? nullptr : &it->second;
  }
  const std::map<WorkerId, WorkerProgress>& all() const {
    Settle();
    return progress_;
  }
  // Returns the scores of all workers that Find knows.
  const Ranked<int64_t>& scores() const {
    Settle();
    return scores_;
  }

 private:
  static constexpr size_t kKept = 64;  // a guess, as in LateRanked
  struct Change {
    WorkerId worker;
    int64_t scores = 0;
    int attempts = 0;
  };
  void Settle() const;

  mutable std::map<WorkerId, WorkerProgress> progress_;
  mutable Ranked<int64_t> scores_;
  mutable std::vector<Change> kept_;
};

struct JobStatistics {
  ProgressByWorker progress;
};

}  // namespace mr::sched
