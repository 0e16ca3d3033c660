// Reasons of the baselines: codes, which stand in journals, and their names and sentences.
#pragma once

#include <span>

#include "master/sched/reason.h"

namespace mr::sched {

struct BaselineReason {
  // Speculative: its score is low {its score, average: %}
  static constexpr ReasonCode kBehindAverage{23};
  // Speculative: most others are done {done, tasks}
  static constexpr ReasonCode kEndOfPhase{24};
  // Speculative: it runs long {seconds, median of the done}
  static constexpr ReasonCode kBeyondMedian{25};
  // Its queue held too many slots {slots held, its share}
  static constexpr ReasonCode kPreempted{26};
  // Ended: another job is guaranteed its slot {slots that job holds, slots it is guaranteed}
  static constexpr ReasonCode kEvicted{48};
  // No first attempts here: too many failed {score, limit}
  static constexpr ReasonCode kListed{73};
  // Its job held slots beyond its guarantee, and a queue waited too long {slots the job held, slots it is guaranteed}
  static constexpr ReasonCode kBeyondGuarantee{91};
};

std::span<const ReasonText> BaselineReasons();

}  // namespace mr::sched
