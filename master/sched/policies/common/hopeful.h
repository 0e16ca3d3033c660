// Caches the stages that may have a use for an idle slot. Of the thousands of offers in a round most change nothing.
// Without the cache each would go through all stages. It changes no result.
#pragma once

#include <cstdint>
#include <vector>

#include "master/sched/state/state.h"

namespace mr::sched {

template <class Seen>
class Hopeful {
 public:
  // Returns the i-th of `stages` with has_any(&stage), or null if there are fewer. Valid until the next fold;
  // `stages` must not change before. Looks at no more stages than it needs.
  template <class HasAny>
  Seen* At(const State& state, std::vector<Seen>& stages, size_t i, HasAny&& has_any) {
    if (folds_ != state.folds()) {
      folds_ = state.folds();
      found_.clear();
      next_ = 0;
    }
    for (; found_.size() <= i && next_ < stages.size(); ++next_) {
      if (has_any(&stages[next_])) found_.push_back(&stages[next_]);
    }
    return i < found_.size() ? found_[i] : nullptr;
  }

 private:
  uint64_t folds_ = ~uint64_t{0};
  std::vector<Seen*> found_;
  size_t next_ = 0;  // the stages before it have been looked at
};

}  // namespace mr::sched
