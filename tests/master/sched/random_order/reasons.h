// Reasons of random_order: codes, which stand in journals, and their names and sentences.
#pragma once

#include <span>

#include "master/sched/reason.h"

namespace mr::sched {

struct RandomOrderReason {
  // Launched in place of the drafted task, since it was drawn {tasks that were drawn from}
  static constexpr ReasonCode kDrawn{200};  // of a test: a policy of the product takes the number above the highest one
};

std::span<const ReasonText> RandomOrderReasons();

}  // namespace mr::sched
