// Reports why mantri_restart leaves a running attempt alone, with the numbers of its rule.
#pragma once

#include "master/sched/policies/mantri/mantri_rules.h"
#include "master/sched/reason.h"

namespace mr::sched {

Reason WhyLeftAlone(const MantriRules& rules, const View& view, const AttemptId& attempt);

}  // namespace mr::sched
