// Credit of clones: holds one kind of clones to a share of all slot time. It rises by `share` of the slot time of each
// phase that ends, times the share of slots that are idle then (or least_idle), and falls by what clones of this kind
// took. It never exceeds `share` of the slot time of the last phases, so that a quiet hour saves none up. Before the
// first phase has ended there is none.
//
// A phase whose clones are decided at once takes what they are foreseen to take, by the last phases of its bin, and
// settles when its job ends. So no large phase takes what the credit does not have.
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
  // share: of all slot time; 0: no limit. cause: of the clones that it counts. least_idle: share of idle slots that
  // counts when fewer are idle.
  CloneCredit(double share, Cause cause, double least_idle) : share_(share), cause_(cause), least_idle_(least_idle) {}

  double share() const { return share_; }
  // Returns why a phase of this many tasks gets no such clones now, or nullopt if it may. clones: those decided at
  // once; 0: they are decided one by one. Cost: four facts are read.
  std::optional<Reason> WhyNot(const View& view, size_t tasks, size_t clones = 0) const;
  // Takes what these clones of the phase are foreseen to take. Once per phase.
  void Take(const View& view, const StageId& id, size_t tasks, size_t clones, Plan* plan) const;
  // Gives back what running phases took, since no policy of the list settles it any more. Call before their facts go.
  static void GiveBack(const View& view, Plan* plan);
  // Counts these jobs, which have ended. Walks their attempts.
  void Learn(const View& view, const std::vector<JobId>& jobs, Plan* plan) const;

 private:
  // Returns the slot time that these clones of such a phase take, by the last phases of its bin; 0 before the first.
  static double SecondsOf(const View& view, size_t tasks, size_t clones);

  double share_;
  Cause cause_;
  double least_idle_;
};

// Slot time of the phase's attempts in seconds: of all, and of those of this cause. Attempts that are being stopped
// hold their slots until now.
struct SlotTime {
  double all = 0, of_cause = 0;
  uint32_t attempts = 0;  // that started
};
SlotTime SlotTimeOf(const Stage& stage, Cause cause, Instant now);

// Weight of the earlier phases when another one ends: some twenty count. A guess.
inline constexpr double kEarlierPhases = .95;

}  // namespace mr::sched
