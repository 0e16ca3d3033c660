#include "master/sched/policies/common/task_end.h"

#include <algorithm>

#include "master/sched/job_profile.h"
#include "master/sched/policies/common/work_seconds.h"

namespace mr::sched {

namespace {

// Returns when the attempt would have ended at the pace of its last report, at the earliest when it did.
Instant EndAlone(const Attempt& a, Instant now) {
  const Instant ended = EndedAt(a, now);
  const std::optional<double> whole = WorkSeconds(a);
  return whole ? std::max(ended, WorkBegan(a) + FromSeconds(*whole)) : ended;
}

}  // namespace

std::optional<TaskEnd> EndWithout(const Task& task, Cause cause, Instant now) {
  const Attempt* winner = Winner(task);
  if (winner == nullptr) return std::nullopt;
  const Attempt* own = nullptr;
  const auto beside = [&](const Attempt& a) {
    const bool stopped = a.state == AttemptState::kKilled || a.state == AttemptState::kEnding;
    return stopped && a.generation == winner->generation && EndedAt(a, now) >= winner->ended_at;
  };
  for (const Attempt& a : task.attempts) {
    if (a.cause == cause || !beside(a)) continue;
    if (own == nullptr || EndAlone(a, now) < EndAlone(*own, now)) own = &a;
  }
  const bool overtaken = winner->cause == cause && own != nullptr;
  if (!overtaken) own = winner;
  return TaskEnd{own, WorkBegan(*own), winner->ended_at, overtaken ? EndAlone(*own, now) : winner->ended_at};
}

}  // namespace mr::sched
