// Phases that have ended, built by hand.
#pragma once

#include <vector>

#include "master/sched/state/entities.h"

namespace mr::sched {

// Seconds after the phase was launched. An instant of 0 would mean that it was not.
inline Instant At(double seconds) { return {FromSeconds(seconds + 1).ns}; }

inline Attempt Ran(uint32_t number, Cause cause, AttemptState state, double from, double to) {
  Attempt a;
  a.number = number;
  a.cause = cause;
  a.state = state;
  a.launched_at = a.started_at = At(from);
  a.ended_at = At(to);
  a.inputs_done = true;
  return a;
}

// A phase of one attempt per task, each from 0 to these seconds.
inline Stage Phase(const std::vector<double>& ends) {
  Stage stage;
  for (const double end : ends) {
    stage.tasks.emplace_back();
    stage.tasks.back().attempts = {Ran(1, Cause::kFirst, AttemptState::kCommitted, 0, end)};
    stage.tasks.back().winner = 1;
  }
  return stage;
}

}  // namespace mr::sched
