// Offers free slots to policies, round by round, and folds in their launches.
#pragma once

#include <set>
#include <string_view>
#include <vector>

#include "master/sched/fold/core.h"
#include "master/sched/policy_lists.h"
#include "master/sched/state/state.h"
#include "master/sched/trigger.h"

namespace mr::sched {

class OfferRounds : public Refusals {
 public:
  // now: the instant of the step; read at each offer.
  OfferRounds(State* state, Core* core, const PolicyLists* lists, const Instant* now)
      : state_(*state), core_(*core), lists_(*lists), now_(*now) {}

  // Offers all free slots for which there is work: first each worker the tasks whose input it holds, then one slot per
  // worker and round, until a round launches nothing. Begins after the worker of the last launch, so that load
  // spreads.
  void All();
  // Offers the slots of workers that got room in this step (Core::freed).
  void Freed();
  // Offers slots that no pending task took to policies with a use for them: one per worker and round, until each free
  // worker has declined.
  void Idle();
  // Arms the core timer to look again: a policy or memory holds work back though there is room, or idle slots may soon
  // be of use.
  void ArmTimer();

  bool Refuses(std::string_view asker, const TaskId& task, WorkerId worker) const override;

 private:
  bool WorkFor(WorkerId worker) const;
  // Returns true if the offer ended in a launch.
  bool Offer(WorkerId worker, bool local_only, bool idle);
  void Local();
  void AddLocal(const LocalLists& local, const std::set<WorkerId>& free, std::set<WorkerId>* workers) const;
  WorkerId NextFree(WorkerId cursor) const;

  State& state_;
  Core& core_;
  const PolicyLists& lists_;
  const Instant& now_;
};

}  // namespace mr::sched
