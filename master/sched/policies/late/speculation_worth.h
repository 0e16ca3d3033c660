// Worth of speculative attempts: how much sooner tasks end because of them, for the time that they take, over the last
// phases. Of each task with speculative attempts, in units of the time of the attempt that committed:
//
//   saved: its end, had the attempt that it overtook run on at its pace, minus its end; at most kMostSaved
//   spent: slot time of its speculative attempts
//
// Speculation pays while saved >= least * spent. The less it pays, the more a new attempt is expected to gain, up to
// kMostAsked times as much. So equal tasks with noisy reports get few, and tasks that hang or are many times slower
// than others still get one each. Wins count nothing: between equal attempts they are chance.
//
// An attempt that reported nothing for as long as the committed one took counts neither way: no gain is asked of it.
#pragma once

#include <vector>

#include "master/sched/plan.h"
#include "master/sched/view.h"

namespace mr::sched {

// In units of the time of the attempts that committed.
struct SpeculationTime {
  double saved = 0, spent = 0;
};
// Attempts that are being stopped count as stopped now.
SpeculationTime SpeculationTimeOf(const Stage& stage, Instant now);

class SpeculationWorth {
 public:
  // least: seconds saved per slot-second; 0: not asked, and nothing is learned.
  explicit SpeculationWorth(double least) : least_(least) {}

  // Returns how many times the usual gain is asked for, 1 to kMostAsked. Cost: two facts.
  double Asked(const View& view) const;
  // Counts these jobs, which have ended. Walks their attempts.
  void Learn(const View& view, const std::vector<JobId>& jobs, Plan* plan) const;

 private:
  double least_;
};

}  // namespace mr::sched
