// Chance that an attempt straggles: that its progress rate is below half of its phase's median (Dolly, NSDI 2013,
// section 3). Over the attempts of jobs that ended in this and in the last `refresh`:
//   p = (slow + prior * kPriorAttempts) / (seen + kPriorAttempts)
#pragma once

#include <vector>

#include "master/sched/plan.h"
#include "master/sched/view.h"

namespace mr::sched {

struct StragglerChance {
  double prior = 0.1;  // weighs as much as kPriorAttempts attempts
  Duration refresh = Seconds(3600);

  // Returns p, in [.001, .9]. Cost: some facts are read.
  double Of(const View& view) const;
  // Counts the attempts of these jobs, which have ended. Walks them.
  void Learn(const View& view, const std::vector<JobId>& jobs, Plan* plan) const;
};

// Attempts that straggle (slow), and attempts that can be judged (all). Rates are per second; the median is that of the
// committed.
struct Stragglers {
  int64_t slow = 0, all = 0;
};
Stragglers CountStragglers(const Stage& stage);

}  // namespace mr::sched
