// Reasons of Dolly: codes, which stand in journals, and their names and sentences.
#pragma once

#include <span>

#include "master/sched/reason.h"

namespace mr::sched {

struct DollyReason {
  // The job's tasks run as clones {attempts of each, tasks, chance of a straggler: %}
  static constexpr ReasonCode kCloned{36};
  // Reads a replica of its own {seconds after the first replica}
  static constexpr ReasonCode kOwnReplica{37};
  // Reads a shared replica {its readers, seconds waited for an own one}
  static constexpr ReasonCode kSharedReplica{38};
  // Ended: its output has its replicas {replicas, seconds waited}
  static constexpr ReasonCode kNoMoreReplicas{39};
  // Clone on an idle slot {running attempts of its task, free slots of the worker}
  static constexpr ReasonCode kIdleSlot{41};
  // Ended: no policy of the list binds its reads any more
  static constexpr ReasonCode kToldNothing{43};
  // Ended: it only made a further replica, and tasks can use its slot {tasks that wait}
  static constexpr ReasonCode kSpareClone{44};
  // No clones: they would not fit {slots asked, slots in use, budget}
  static constexpr ReasonCode kNoBudget{75};
  // No clones: too few slots are free {slots asked, slots held, ceiling}
  static constexpr ReasonCode kTooBusy{76};
  // No clones: one attempt is enough {tasks, chance of a straggler: %}
  static constexpr ReasonCode kCloneEnough{77};
  // No clone on an idle slot: a large phase {tasks, most}
  static constexpr ReasonCode kNotSmall{84};
  // No clone on an idle slot: none is free {workers with a free slot}
  static constexpr ReasonCode kNoIdleSlot{85};
  // No clone on an idle slot: equal input gives different content
  static constexpr ReasonCode kRandomOperator{86};
  // No clone on an idle slot: its queue is, or would be, full {slots held, most}
  static constexpr ReasonCode kQueueFull{87};
  // No clone: it failed too often {attempts that failed}
  static constexpr ReasonCode kFailedTwice{88};
  // Ended: clones of a smaller phase take its place in the budget {slots they lack, tasks of that phase}
  static constexpr ReasonCode kSmallerPhase{90};
  // No clone on an idle slot: clones of such phases save too little {milliseconds of a phase per slot-second, least}
  static constexpr ReasonCode kDoesNotPay{93};
  // No clones: their share of the slot time is used {share: %, credit and what is kept for smaller phases, if known:
  // slot-seconds}
  static constexpr ReasonCode kShareSpent{94};
};

std::span<const ReasonText> DollyReasons();

}  // namespace mr::sched
