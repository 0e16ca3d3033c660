#include "master/sched/policies/dolly/work_seconds.h"

#include <algorithm>

namespace mr::sched {

Instant WorkBegan(const Attempt& a) {
  return a.started_at.ns == 0 ? Instant{} : std::max(a.started_at, a.inputs_done_at);
}

std::optional<double> WorkSeconds(const Attempt& a) {
  if (a.samples.empty() || a.started_at.ns == 0 || !a.inputs_done) return std::nullopt;
  const Sample& last = a.samples.back();
  double done = static_cast<double>(ScoreOf(a)) / static_cast<double>(kWholeScore);
  if (last.phase > 0) {
    // Copying is the first third of a reduce's score (LATE, OSDI'08, 2.1).
    constexpr double kCopied = 1. / 3;
    done = (done - kCopied) / (1 - kCopied);
  }
  const double took = (last.at - WorkBegan(a)).seconds();
  if (done <= 0 || took <= 0) return std::nullopt;
  return std::min(took / done, kLongestWork);
}

}  // namespace mr::sched
