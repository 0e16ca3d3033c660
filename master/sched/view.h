// What policies may see: the state as it is before their own plan, and the instant of the event.
#pragma once

#include "common/base/time.h"
#include "master/sched/state.h"

namespace mr::sched {

class View {
 public:
  View(const State& state, Instant now) : state_(state), now_(now) {}
  const State& state() const { return state_; }
  Instant now() const { return now_; }

 private:
  const State& state_;
  Instant now_;
};

}  // namespace mr::sched
