// The chance that an attempt straggles: that its progress rate is below half of its phase's median (Dolly,
// section 3; papers.md 1.1), of the attempts of jobs that ended in this and in the last `refresh`.
#pragma once

#include <vector>

#include "master/sched/plan.h"
#include "master/sched/view.h"

namespace mr::sched {

struct StragglerChance {
  double prior = 0.1;  // weighs as much as kPriorAttempts attempts
  Duration refresh = Seconds(3600);

  // In [.001, .9]. Two facts are read.
  double Of(const View& view) const;
  // Counts the attempts of these jobs, which have ended. Walks them.
  void Learn(const View& view, const std::vector<JobId>& jobs, Plan* plan) const;
};

// How many of these attempts straggle, and of how many it can be told. Rates per second; the median is that of
// the committed.
struct Stragglers {
  int64_t slow = 0, all = 0;
};
Stragglers CountStragglers(const Stage& stage);

}  // namespace mr::sched
