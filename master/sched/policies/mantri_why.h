// What mantri_restart says of an attempt that runs: why it is left alone, with the numbers of its rule.
#pragma once

#include "master/sched/policies/mantri_rules.h"
#include "master/sched/reason.h"

namespace mr::sched {

Reason WhyLeftAlone(const MantriRules& rules, const View& view, const AttemptId& attempt);

}  // namespace mr::sched
