// What a policy saw of the stages that may have a use for an idle slot, without those that have none: most offers of a
// round of thousands change nothing, and would else go through all stages each. For speed alone: it says what a look at
// each stage would.
#pragma once

#include <cstdint>
#include <vector>

#include "master/sched/state.h"

namespace mr::sched {

template <class Seen>
class Hopeful {
 public:
  // Of `stages`, the i-th with has_any(&stage), null where there are fewer; good until something is folded in, which
  // `stages` may not outlive unchanged. Looks at no more stages than it takes to find it.
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
