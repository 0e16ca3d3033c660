// Caches the candidates of a stage for mantri_restart, valid until its statistics change. In a large cluster a thousand
// slots fall free each second, and each is compared with the same few attempts of the same stages. It changes no
// decision.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "master/sched/index/estimate.h"
#include "master/sched/policies/mantri/mantri_rules.h"

namespace mr::sched {

// Where a candidate's split is, so that most workers are refused without a look at the task.
struct CandidateSplit {
  std::array<WorkerId, 3> places;
  size_t count = 0;  // 0: no place, or more than these
  // Returns true if the task reads its split from another worker there. False: it may not.
  bool Elsewhere(WorkerId worker) const {
    const auto end = places.begin() + static_cast<std::ptrdiff_t>(count);
    return count > 0 && std::find(places.begin(), end, worker) == end;
  }
};

// A candidate: the only live attempt of its task.
struct MantriCandidate {
  uint32_t task = 0;
  size_t rank = 0;  // among the dearest
  double cost = 0;  // ns per byte, as predicted; 0: not known
  Instant started;
  Standing standing;
  double period = 0;  // Delta, seconds
  CandidateSplit split;
};

struct MantriStage {
  static constexpr size_t kEarliest = 16;

  StageId id;
  uint64_t changes = 0;  // StageStatistics::changes when it was looked at
  size_t depth = 0;      // how many of the dearest were examined
  NewAttempt fresh;
  Duration usual;                                      // mean time of a finished one
  Duration least_age;                                  // the earliest meet no rule before
  std::vector<MantriCandidate> dearest;                // the dearest first
  std::vector<MantriCandidate> earliest;               // the earliest first, as far as they have been loaded
  std::vector<std::pair<Instant, AttemptKey>> starts;  // of all of these
  size_t loaded = 0;                                   // of `starts`
};

// Returns false if JudgeTask finds nothing to do for the candidate either, or nothing that saves more than `least`
// seconds. location() returns the factor of the worker; it is called only if the answer depends on it.
template <class Location>
bool MayAct(const MantriRules& rules, const NewAttempt& fresh, const MantriCandidate& c, Instant now, double least,
            bool waiting, bool speculate, Location&& location) {
  const double period = c.period;
  if ((now - c.started).seconds() < std::max(period, rules.min_age)) return false;
  const auto known = SecondsLeft(rules, fresh, c.standing, now);
  if (!known) return false;
  const double left = *known, bytes = c.standing.bytes;
  const double needed = waiting ? period : rules.rho * period;
  const bool may_speculate = waiting && speculate && fresh.ChanceBelow(left / 2, bytes, 0) > rules.delta;
  if (!may_speculate && left - fresh.Expected(bytes, 0) <= std::max(needed, least)) return false;
  const double at = location(), saves = left - fresh.Expected(bytes, at);
  if (saves <= least) return false;
  return saves > needed || (may_speculate && fresh.ChanceBelow(left / 2, bytes, at) > rules.delta);
}

// Use of a stage for idle slots of any worker. In a round of idle offers thousands of workers are compared with stages
// that mostly have none.
struct MantriIdle {
  StageKey key;
  const Job* job = nullptr;
  const Stage* stage = nullptr;
  uint64_t round = 0;               // State::idle_rounds of the last look; 0: none
  uint64_t changes = 0, edits = 0;  // of its statistics and its tasks, when it was judged
  bool judged = false;
  Instant quiet_until;            // no slot is of use before, unless these change
  bool candidates = false;        // one of the dearest or earliest may act on some worker
  std::vector<uint32_t> doubled;  // ascending: tasks with several attempts for which JudgeTask may find something
};

class MantriStages {
 public:
  explicit MantriStages(const MantriRules& rules) : rules_(rules) {}
  // Returns the stages of this round of idle offers, in the order of View::speculable when it began.
  std::vector<MantriIdle>& Idle(const View& view, SlotKind kind);
  // Looks at a stage again if it changed, or if its last verdict is older than this round and may not hold any more.
  // Returns false if nothing in it can get a further attempt. depth: as in Look.
  bool Refresh(const View& view, size_t depth, MantriIdle* idle);
  // Returns the cached stage with at least `depth` of the dearest candidates. Valid until the next call, or a change of
  // the state.
  MantriStage& Look(const State& state, const StageId& id, size_t depth);
  // Loads those of the earliest that have this age. Most are too young for any rule, and in a large cluster none of
  // them is near.
  void LoadEarliest(const State& state, Instant now, Duration age, MantriStage* seen) const;
  void Forget(JobId job);

 private:
  static constexpr size_t kRecent = 2048;  // a guess: two stages of each running job of a large cluster
  static size_t PlaceOf(const StageId& id) { return (2 * id.job.seq + id.stage) % kRecent; }
  MantriStage& StageOf(const StageId& id);
  void Judge(const View& view, size_t depth, MantriIdle* idle);
  // Returns nullopt for an attempt that JudgeTask does not judge.
  std::optional<MantriCandidate> CandidateOf(const State& state, const Stage& stage, const NewAttempt& fresh,
                                             AttemptKey key) const;

  const MantriRules rules_;
  std::map<StageId, MantriStage> stages_;
  std::array<MantriStage*, kRecent> recent_{};  // of these, the last one found for each PlaceOf
  std::array<std::vector<MantriIdle>, 2> idle_;
  std::array<uint64_t, 2> round_{~uint64_t{0}, ~uint64_t{0}};  // State::idle_rounds of these
};

}  // namespace mr::sched
