// random_order: an example of a new policy. It launches the tasks that are ready in a random order, which the seed
// fixes.
//
// A policy is a folder (this one: the class, its reasons) and a line in the list (list.cc). Nothing else names it.
#pragma once

#include <memory>
#include <span>

#include "master/sched/pipeline.h"
#include "master/sched/policy.h"
#include "master/sched/reason.h"

namespace mr::sched {

struct RandomOrderReason {
  // Launched since it was drawn {tasks that were ready}
  static constexpr ReasonCode kDrawn{200};
};

std::span<const ReasonText> RandomOrderReasons();

// Parameters: stages=64, the first stages from which it draws.
Result<std::unique_ptr<Policy>> MakeRandomOrder(PolicyParams* params);

}  // namespace mr::sched
