// What clones of admitted phases are charged to, and what comes back of it (dolly.h, B_U). Each list of jobs keeps what
// its own phases are charged. Jobs with lists of their own share what the cluster's list and they themselves leave of a
// budget; what they take, by whatever beta, is none of the jobs' of the cluster's list.
#pragma once

#include <vector>

#include "master/sched/plan.h"
#include "master/sched/policies/dolly_rules.h"
#include "master/sched/view.h"

namespace mr::sched {

class CloneBudget {
 public:
  explicit CloneBudget(const Budget& budget) : budget_(budget) {}

  // Slots that it has; that are charged already, as the list of this view sees it.
  double Slots(const State& state) const;
  int64_t Used(const View& view) const;
  // Of n tasks with c attempts each.
  int64_t Charge(uint32_t c, uint32_t n) const { return static_cast<int64_t>(DemandOf(c, n, budget_).charge); }
  void Take(const View& view, int64_t slots, Plan* plan) const;
  // What phases may still hold, where one of their attempts moved: c for each task that is cloned; else what its clones
  // hold that are there.
  void GiveBack(const View& view, const std::vector<AttemptId>& changed, Plan* plan) const;
  // These jobs are over.
  void End(const View& view, const std::vector<JobId>& jobs, Plan* plan) const;
  // Ends the clones of phases of more than n tasks, the largest first, until so many slots are back. How many are: they
  // are off the draft's account, too. None where all of them are not enough.
  double Preempt(const View& view, uint32_t n, double need, Plan* plan) const;

 private:
  // What this phase may hold now.
  int64_t MayHold(const View& view, const Job& job, uint32_t stage) const;

  const Budget budget_;
};

}  // namespace mr::sched
