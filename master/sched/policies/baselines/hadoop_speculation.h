// hadoop_speculation: speculative attempts of attempts that are far behind the average; the baseline of LATE.
//
// Hadoop's native speculation, as Zaharia et al. (OSDI 2008, section 2) state it:
//   straggler: score < average score of its category - 0.2, and it ran for a minute
// All stragglers are equal except for locality. A task gets one speculative attempt, and their number has no limit. Of
// equal stragglers the first in the order of tasks is chosen, as Hadoop walks them. The flaws that LATE shows are kept:
// - No attempt above 80 % ever gets a speculative attempt.
// - Once a third of the reduces have ended, all that are still in the copy phase are stragglers.
// - A new attempt on a fast worker may be chosen before an old one on a slow worker.
//
// Parameters: gap (0.2), min_age, skew_check (on|off).
//
// Departures: the average is over attempts of the stage that run or finished, not over tasks. Only the 256 stragglers
// with the smallest scores are examined.
#pragma once

#include <memory>

#include "master/sched/pipeline.h"

namespace mr::sched {

Result<std::unique_ptr<Policy>> MakeHadoopSpeculation(PolicyParams* params);

}  // namespace mr::sched
