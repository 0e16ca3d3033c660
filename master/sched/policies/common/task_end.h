// When a task ended, and when it would have ended without the attempts of one cause.
#pragma once

#include <optional>

#include "master/sched/state/entities.h"

namespace mr::sched {

struct TaskEnd {
  Instant began, ended, alone;  // began: the work of the attempt that `alone` is of. alone: never before `ended`
};

// alone: when the first of the other attempts would have ended at the pace of its last report; `ended` if that is not
// known, or if the attempt that committed has another cause. Returns nullopt if none committed. now: attempts that are
// being stopped hold their slots until then.
std::optional<TaskEnd> EndWithout(const Task& task, Cause cause, Instant now);

// Returns when the attempt ended, or now.
inline Instant EndedAt(const Attempt& a, Instant now) { return a.ended_at.ns == 0 ? now : a.ended_at; }

}  // namespace mr::sched
