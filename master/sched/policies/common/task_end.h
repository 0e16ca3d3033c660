// When a task ended, and when it would have ended without the attempts of one cause.
#pragma once

#include <optional>

#include "master/sched/state/entities.h"

namespace mr::sched {

struct TaskEnd {
  const Attempt* own = nullptr;  // the attempt that committed, or the one that would have without that cause
  Instant began, ended, alone;   // own's work; the task's end; its end without that cause, never before `ended`
};

// Returns nullopt if no attempt committed. If the one that did has this cause, `own` is the first to end, at the pace
// of its last report, of the others that ran until then. If there is none, or no report shows a pace, `alone` is
// `ended`. now: attempts that are being stopped hold their slots until then.
std::optional<TaskEnd> EndWithout(const Task& task, Cause cause, Instant now);

// Returns when the attempt ended, or now.
inline Instant EndedAt(const Attempt& a, Instant now) { return a.ended_at.ns == 0 ? now : a.ended_at; }

}  // namespace mr::sched
