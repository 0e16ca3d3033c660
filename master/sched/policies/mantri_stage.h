// What mantri_restart knows of a stage, kept as long as nothing in its statistics changes: in a large cluster a
// thousand slots fall free each second, and each is held against the same few attempts of the same stages. Never
// says anything else than a look at the state would.
#pragma once

#include <array>
#include <map>
#include <vector>

#include "master/sched/estimate.h"
#include "master/sched/policies/mantri_rules.h"

namespace mr::sched {

// The only live attempt of its task.
struct MantriCandidate {
  uint32_t task = 0;
  size_t rank = 0;  // among the dearest
  double cost = 0;  // ns per byte, as predicted; 0: not known
  Instant started;
  Standing standing;
  double period = 0;  // Delta, seconds
};

struct MantriStage {
  static constexpr size_t kEarliest = 16;

  uint64_t changes = 0;  // StageStatistics::changes when it was looked at
  size_t depth = 0;      // how many of the dearest were
  NewAttempt fresh;
  Duration usual;                                  // that a finished one took
  std::vector<MantriCandidate> dearest, earliest;  // the dearest first; the earliest first
};

// False: JudgeTask finds nothing to do for it either, or nothing that saves more than `least`. location() is that of
// the worker, asked for only where the answer depends on it.
template <class Location>
bool MayAct(const MantriRules& rules, const NewAttempt& fresh, const MantriCandidate& c, Instant now, double least,
            bool waiting, bool copies, Location&& location) {
  const double period = c.period;
  if ((now - c.started).seconds() < std::max(period, rules.min_age)) return false;
  const auto known = fresh.Left(c.standing, now);
  if (!known) return false;
  const double left = *known, bytes = c.standing.bytes;
  const double needed = waiting ? period : rules.rho * period;
  const bool may_copy = waiting && copies && fresh.ChanceBelow(left / 2, bytes, 0) > rules.delta;
  if (!may_copy && left - fresh.Expected(bytes, 0) <= std::max(needed, least)) return false;
  const double at = location(), saves = left - fresh.Expected(bytes, at);
  if (saves <= least) return false;
  return saves > needed || (may_copy && fresh.ChanceBelow(left / 2, bytes, at) > rules.delta);
}

// What a stage has for idle slots, whoever's they are: in a round of idle offers thousands of workers are held
// against stages of which most have nothing for anybody.
struct MantriIdle {
  StageKey key;
  const Job* job = nullptr;
  const Stage* stage = nullptr;
  bool looked = false;
  uint64_t changes = 0, edits = 0;  // of its statistics and its tasks, when it was looked at
  bool candidates = false;          // one of the dearest or earliest may act, wherever
  std::vector<uint32_t> doubled;    // ascending; of which JudgeTask may find something, wherever
};

class MantriStages {
 public:
  explicit MantriStages(const MantriRules& rules) : rules_(rules) {}
  // Of this round of idle offers; in the order of View::speculable when it began.
  std::vector<MantriIdle>& Idle(const View& view, SlotKind kind);
  // False: nothing is known of new attempts, or nothing there can be copied. depth: of Look.
  bool Refresh(const View& view, size_t depth, MantriIdle* idle);
  // With so many of the dearest at least. Good until the next call, or a change of the state.
  const MantriStage& Look(const State& state, const StageId& id, size_t depth);
  void Forget(JobId job);

 private:
  const MantriRules rules_;
  std::map<StageId, MantriStage> stages_;
  std::array<std::vector<MantriIdle>, 2> idle_;
  std::array<uint64_t, 2> round_{~uint64_t{0}, ~uint64_t{0}};  // State::idle_rounds of these
};

}  // namespace mr::sched
