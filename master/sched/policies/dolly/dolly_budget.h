// Budget of dolly (B_U in dolly.h): charges admitted phases for their clones, and refunds the charges. Each list of
// policies keeps its own charges. For jobs with a list of their own, the charges of the cluster's list count as well as
// those of their own lists. For jobs of the cluster's list, charges of other lists never count, whatever their beta.
#pragma once

#include <vector>

#include "master/sched/plan.h"
#include "master/sched/policies/dolly/dolly_rules.h"
#include "master/sched/view.h"

namespace mr::sched {

class CloneBudget {
 public:
  explicit CloneBudget(const Budget& budget) : budget_(budget) {}

  // Returns the slots of the budget.
  double Slots(const State& state) const;
  // Returns the slots charged so far, as the list of this view sees them.
  int64_t Used(const View& view) const;
  // Returns the charge for n tasks with c clones each.
  int64_t Charge(uint32_t c, uint32_t n) const { return static_cast<int64_t>(DemandOf(c, n, budget_).charge); }
  void Take(const View& view, int64_t slots, Plan* plan) const;
  // Gives back what phases with these attempts can no longer hold. They may hold c for each cloned task; else only what
  // their present clones hold.
  void GiveBack(const View& view, const std::vector<AttemptId>& changed, Plan* plan) const;
  // Gives back all charges of these jobs, which have ended.
  void End(const View& view, const std::vector<JobId>& jobs, Plan* plan) const;
  // Ends the clones of phases of more than n tasks, the largest first, until `need` slots are back; none if all of them
  // are not enough. Returns the slots given back, which the draft no longer charges either.
  double Preempt(const View& view, uint32_t n, double need, Plan* plan) const;

 private:
  // Returns the slots that this phase may hold now.
  int64_t MayHold(const View& view, const Job& job, uint32_t stage) const;

  const Budget budget_;
};

}  // namespace mr::sched
