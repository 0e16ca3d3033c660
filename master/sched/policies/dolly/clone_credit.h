// Credit of clones: holds one kind of clones to a share of all slot time. It rises by `share` of the slot time of each
// phase that ends, times the share of slots that are idle then, and falls by what clones of this kind took. It never
// exceeds `share` of the slot time of the last phases, so that a quiet hour saves none up.
//
// Small phases come first: each bin of phases (by their tasks, job_bins.h) leaves a fifth of the largest credit to the
// bins below it.
#pragma once

#include <optional>
#include <vector>

#include "master/sched/plan.h"
#include "master/sched/reason.h"
#include "master/sched/view.h"

namespace mr::sched {

class CloneCredit {
 public:
  // share: of all slot time; 0: no limit. cause: of the clones that it counts.
  CloneCredit(double share, Cause cause) : share_(share), cause_(cause) {}

  double share() const { return share_; }
  // Returns why a phase of this many tasks gets no such clones now, or nullopt if it may. Cost: two facts are read.
  std::optional<Reason> WhyNot(const View& view, size_t tasks) const;
  // Counts these jobs, which have ended. Walks their attempts.
  void Learn(const View& view, const std::vector<JobId>& jobs, Plan* plan) const;

 private:
  double share_;
  Cause cause_;
};

// Slot time of the phase's attempts in seconds: of all, and of those of this cause. Attempts that are being stopped
// hold their slots until now.
struct SlotTime {
  double all = 0, of_cause = 0;
};
SlotTime SlotTimeOf(const Stage& stage, Cause cause, Instant now);

// Returns the number of this fact, or 0.
double RealOf(const View& view, const char* scope, uint64_t id, const char* name);

// Weight of the earlier phases when another one ends: some twenty count. A guess.
inline constexpr double kEarlierPhases = .95;

}  // namespace mr::sched
