// Worth of speculative attempts: how much sooner tasks ended because of them, for the time that they took. The attempts
// of all policies of a list count, and the last phases weigh most. The unit is the time of the longest speculative
// attempt of the task, or of the work of the attempt that committed if that is longer. Of each task:
//
//   saved: from its end to when it would have ended without speculative attempts, at most 3
//   spent: slot time of its speculative attempts
//
// Speculation pays while saved >= least * spent. The less it pays, the more a new attempt is expected to gain, up to
// four times as much. So equal tasks with noisy reports get few, and tasks that hang or are many times slower than
// others still get one each. Wins count nothing: between equal attempts they are chance.
//
// A task counts neither way if the pace of the slow attempt is not known, because it has not reported since the
// speculative one was launched, has read all of its input, or failed. Of most such attempts no gain is asked.
#pragma once

#include <functional>
#include <vector>

#include "master/sched/plan.h"
#include "master/sched/view.h"

namespace mr::sched {

struct SpeculationTime {
  double saved = 0, spent = 0;
};
// Returns the sum over the tasks. Attempts that are being stopped count as stopped now.
SpeculationTime SpeculationTimeOf(const Stage& stage, Instant now);

class SpeculationWorth {
 public:
  // least: seconds saved per slot-second; 0: not asked, and nothing is learned.
  explicit SpeculationWorth(double least) : least_(least) {}

  // Returns how many times the usual gain is asked for, 1 to 4. Cost: two facts.
  double Asked(const View& view) const;
  // Counts the stages of these jobs, which have ended, for which `counts` returns true. Walks the attempts of jobs with
  // speculative attempts.
  void Learn(const View& view, const std::vector<JobId>& jobs,
             const std::function<bool(const Job&, uint32_t stage)>& counts, Plan* plan) const;

 private:
  double least_;
};

}  // namespace mr::sched
