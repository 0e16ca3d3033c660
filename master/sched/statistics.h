// What speculation asks of a stage and of a job: how fast attempts are against each other. Derived
// from attempts, so neither hashed nor saved; kept by the state's setters (state_rate.cc) as long as
// a policy of the list wants it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "common/base/ids.h"
#include "common/base/time.h"
#include "master/sched/ranked.h"

namespace mr::sched {

// Progress scores are counted in billionths, so that sums do not depend on the order of additions.
inline constexpr int64_t kWholeScore = 1'000'000'000;

using AttemptKey = std::pair<uint32_t, uint32_t>;  // task, number

// Which of the statistics that not all speculation reads are kept, by what the policies of a list ask for. Each of
// them is a search in an order or two for every attempt that starts, reports and ends.
struct StatisticsWanted {
  bool any = false;      // those without a word here
  bool copies = false;   // none: a policy of the list copies slow attempts, and room is kept for that
  bool scores = false;   // StageStatistics::by_score
  bool rates = false;    // by_rate, rates, ends
  bool workers = false;  // JobStatistics
  bool costs = false;    // told, costs, wrapups, by_worker
  friend StatisticsWanted operator|(const StatisticsWanted& a, const StatisticsWanted& b) {
    return {a.any || b.any,     a.copies || b.copies,   a.scores || b.scores,
            a.rates || b.rates, a.workers || b.workers, a.costs || b.costs};
  }
  bool operator==(const StatisticsWanted&) const = default;
};

// How one attempt stands in the statistics of its stage.
struct Rating {
  bool running = false, finished = false;
  bool candidate = false;  // it runs alone, and its task may get a copy
  // It runs, the only live attempt of its task but for clones on lent slots, and the task may be copied or begun anew.
  bool alone = false;
  bool sampled = false;  // it is one of those that stand for the stage (kCostsKept)
  double rate = 0;       // score per second when it last reported; 0 = not known
  int64_t score = 0;     // billionths
  int64_t started = 0;   // ns
  int64_t lasted = 0;    // ns, of finished ones
  uint64_t bytes = 0;    // of its input, of finished ones; 0 = not known
  double cost = 0;       // ns per byte of its input: that it took, or is predicted to take; 0 = not known
  // ns per byte that its whole input takes it, without the wait for inputs; of one that runs, predicted once it
  // has reported enough (State::RatingOf); 0 = not known.
  double told = 0;
  int64_t work = 0;    // ns, of finished ones: `lasted` without the wait for inputs
  int64_t wrapup = 0;  // ns, of finished ones: from the last byte of input to the end
  int64_t lag = 0;     // ns: from launch to start
  // ns that each phase of a reduce takes it, from begin to end: as measured, or by its rate in the one
  // that it is in; 0 = not known.
  std::array<int64_t, 3> phases{};
  bool operator==(const Rating&) const = default;
};

// What finished attempts of one worker took for how much input.
struct WorkDone {
  int64_t ns = 0;
  uint64_t bytes = 0;
  bool operator==(const WorkDone&) const = default;
};

// A stage of more tasks keeps the costs of so many, chosen by their number: exact as to whose they are,
// whatever the order in which tasks end.
inline constexpr uint32_t kCostsKept = 1024;

struct StageStatistics {
  uint64_t changes = 0;  // rises with each change of the rest
  // Of candidates.
  Ranked<std::pair<double, AttemptKey>> by_rate;  // only known rates
  Ranked<std::pair<int64_t, AttemptKey>> by_score;
  Ranked<std::pair<int64_t, AttemptKey>> by_start;
  // Of attempts that run or finished.
  Ranked<double> rates;  // only known rates
  int64_t scores = 0;    // their sum
  uint32_t running = 0;
  int64_t lag_ns = 0;                 // likewise
  uint32_t sampled = 0;               // how many stand for the stage, and
  Ranked<double> told;                // ns per byte that they tell
  std::array<int64_t, 3> phase_ns{};  // of those that know the phase's time (Rating::phases): its sum,
  std::array<uint32_t, 3> phase_n{};  // and how many they are
  // Of finished ones.
  Ranked<int64_t> durations;               // ns
  Ranked<int64_t> ends;                    // ns: when they did
  int64_t measured_ns = 0;                 // durations of those whose input is known,
  uint64_t measured_bytes = 0;             // and these inputs
  int64_t measured_work = 0;               // and how long they took without the wait for inputs
  uint32_t measured = 0;                   // how many these are
  int64_t wrapup_ns = 0;                   // the sum, of all finished ones
  Ranked<double> costs;                    // ns per byte, of the sampled
  Ranked<int64_t> wrapups;                 // ns, likewise
  std::map<WorkerId, WorkDone> by_worker;  // of those whose input is known
  // The dearest first: (-cost, attempt) of those alone.
  Ranked<std::pair<double, AttemptKey>> by_cost;
  // Tasks of which more than one attempt is live, clones on lent slots not counted, and one is wanted.
  std::set<uint32_t> doubled;

  // Something that runs here may get a copy.
  bool speculable() const { return !by_start.empty() || !by_cost.empty() || !doubled.empty(); }
};

struct WorkerProgress {
  int64_t scores = 0;     // sum over what runs or finished there
  uint32_t attempts = 0;  // how many these are
  bool operator==(const WorkerProgress&) const = default;
};

struct JobStatistics {
  std::map<WorkerId, WorkerProgress> progress;
  Ranked<int64_t> by_progress;  // the scores in `progress`
};

}  // namespace mr::sched
