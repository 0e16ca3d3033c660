#include "master/sched/policies/common/work_seconds.h"

#include <algorithm>

namespace mr::sched {

Instant WorkBegan(const Attempt& a) {
  // Without phases, as of a map, its input needs no copying: the first report says no more than that.
  const bool copies = !a.samples.empty() && a.samples.back().phase > 0;
  return copies && a.started_at.ns != 0 ? std::max(a.started_at, a.inputs_done_at) : a.started_at;
}

std::optional<double> WorkSeconds(const Attempt& a) {
  if (a.samples.empty() || a.started_at.ns == 0 || !a.inputs_done) return std::nullopt;
  const Sample& last = a.samples.back();
  const Instant began = WorkBegan(a);
  double done = static_cast<double>(ScoreOf(a)) / static_cast<double>(kWholeScore), before = 0;
  Instant from = began;
  if (last.phase == 3 && a.reduce_at.ns != 0) {
    before = std::max(0.0, (a.reduce_at - began).seconds());
    done = PhaseShare(last);
    from = a.reduce_at;
  } else if (last.phase > 0) {
    // Copying is the first third of a reduce's score (LATE, OSDI'08, 2.1).
    constexpr double kCopied = 1. / 3;
    done = (done - kCopied) / (1 - kCopied);
  }
  const double took = (last.at - from).seconds();
  if (done <= 0 || took <= 0) return std::nullopt;
  return std::min(before + took / done, kLongestWork);
}

}  // namespace mr::sched
