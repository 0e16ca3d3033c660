// Caches the stages that may have a use for an idle slot. Of the thousands of offers in a round most change nothing,
// and one that launches changes one stage. Without the cache each would go through all stages. It changes no result.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "master/sched/state/state.h"

namespace mr::sched {

// Seen: what is known of a stage, with its StageKey `key`.
template <class Seen>
class Hopeful {
 public:
  // Returns the first stage with has_any(&stage) and open(stage) at or after the position, and moves the position
  // behind it; null if there is none. A loop begins with the position 0 and ends before the next fold. Looks at no more
  // stages than it needs. In a round of idle offers has_any is called again only for stages in State::moved; open is
  // called once per stage and fold. Requires: `stages` is ascending, and stays so until the next round or, outside of
  // rounds, fold.
  template <class HasAny, class Open>
  Seen* Next(const State& state, std::vector<Seen>& stages, size_t* position, HasAny&& has_any, Open&& open) {
    if (*position == 0) Update(state, stages, has_any);
    while (true) {
      if (*position < open_.size()) return &stages[open_[(*position)++]];
      if (asked_ < found_.size()) {
        const size_t number = found_[asked_++];
        if (open(stages[number])) open_.push_back(number);
        continue;
      }
      if (next_ == stages.size()) return nullptr;
      if (has_any(&stages[next_])) found_.push_back(next_);
      ++next_;
    }
  }

 private:
  template <class HasAny>
  void Update(const State& state, std::vector<Seen>& stages, HasAny&& has_any) {
    const bool same_fold = round_ == state.idle_rounds() && folds_ == state.folds();
    const bool same = round_ == state.idle_rounds() && (state.in_idle_round() || same_fold);
    round_ = state.idle_rounds();
    folds_ = state.folds();
    if (!same_fold) AskAgain();
    const std::vector<StageKey>& moved = state.moved();
    if (!same) {
      found_.clear();
      next_ = 0;
      read_ = moved.size();
      return;
    }
    for (size_t from = read_; read_ < moved.size(); ++read_) {
      if (read_ == from || moved[read_] != moved[read_ - 1]) Renew(moved[read_], stages, has_any);
    }
  }

  template <class HasAny>
  void Renew(StageKey key, std::vector<Seen>& stages, HasAny&& has_any) {
    const auto end = stages.begin() + static_cast<std::ptrdiff_t>(next_);
    const auto at =
        std::lower_bound(stages.begin(), end, key, [](const Seen& seen, const StageKey& k) { return seen.key < k; });
    if (at == end || at->key != key) return;
    const auto number = static_cast<size_t>(at - stages.begin());
    const auto place = std::lower_bound(found_.begin(), found_.end(), number);
    const bool was = place != found_.end() && *place == number, is = has_any(&*at);
    if (is == was) return;
    AskAgain();
    is ? (void)found_.insert(place, number) : (void)found_.erase(place);
  }

  void AskAgain() {
    open_.clear();
    asked_ = 0;
  }

  uint64_t round_ = ~uint64_t{0}, folds_ = ~uint64_t{0};
  std::vector<size_t> found_;  // numbers of the stages with any, ascending
  std::vector<size_t> open_;   // those of them that are open, of the first asked_
  size_t asked_ = 0;
  size_t next_ = 0;  // the stages before it have been looked at
  size_t read_ = 0;  // so much of State::moved is taken into account
};

}  // namespace mr::sched
