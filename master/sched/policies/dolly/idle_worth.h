// Worth of clones on idle slots: how much sooner phases end because of them, per slot time that they take, over the
// last phases of a bin (by their tasks, job_bins.h). It says for which bins they pay.
//
//   saved:     a phase's end, had its own attempts run on at their pace, minus its end
//   spent:     slot time of its clones on idle slots
//   potential: a phase's end minus its end, had each outlier (kOutlier) taken the median time
//   cost:      the median time of each of its tasks: the slot time of one clone each
//
// Clones of a bin pay while saved >= least * spent. Where none were tried recently, they are tried if
// potential >= least * cost. Wins count nothing, since equal clones win by luck. A phase of fewer than kFewest tasks,
// or of equal ones, has no potential. What cannot be known, as of an attempt that never reported, counts as not saved.
#pragma once

#include <optional>
#include <vector>

#include "master/sched/plan.h"
#include "master/sched/reason.h"
#include "master/sched/view.h"

namespace mr::sched {

// In seconds, of one phase. held: slot time of all its attempts, `spent` included.
struct PhaseWorth {
  double saved = 0, spent = 0, potential = 0, cost = 0, held = 0;
};
// Attempts that are being stopped count as stopped now.
PhaseWorth WorthOf(const Stage& stage, Instant now);

class IdleWorth {
 public:
  // least: seconds of a phase saved per slot-second; 0: not asked.
  explicit IdleWorth(double least) : least_(least) {}

  // Returns why a phase of this many tasks gets no clones on idle slots, or nullopt if they pay. Cost: five facts are
  // read.
  std::optional<Reason> WhyNot(const View& view, size_t tasks) const;
  // Counts these jobs, which have ended. Walks their attempts.
  void Learn(const View& view, const std::vector<JobId>& jobs, Plan* plan) const;

 private:
  double least_;
};

}  // namespace mr::sched
