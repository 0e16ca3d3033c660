// hadoop_speculation: copies of attempts that are far behind the average; the baseline of LATE.
//
// Hadoop's native speculation, as Zaharia et al. (OSDI 2008, section 2) state it:
//   straggler: score < average score of its category - 0.2, and it ran for a minute
// All stragglers are equal but for locality; one copy of a task; no limit on copies. What LATE shows
// to be wrong with it is kept: no attempt above 80 % is ever copied, once a third of the reduces
// have ended all that still copy are stragglers, and a new attempt on a fast worker may be copied
// before an old one on a slow worker. Of equal stragglers it is the first in the order of tasks, as
// Hadoop walks them.
//
// Parameters: gap (0.2), min_age, skew_check (on|off).
//
// Departs from it: the average is over attempts of the stage that run or finished, not over tasks;
// of the 256 stragglers with the smallest scores, not of all.
#pragma once

#include <memory>

#include "master/sched/pipeline.h"

namespace mr::sched {

Result<std::unique_ptr<Policy>> MakeHadoopSpeculation(PolicyParams* params);

}  // namespace mr::sched
