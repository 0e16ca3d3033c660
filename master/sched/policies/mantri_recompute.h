// mantri_recompute: on a first failed read from a worker, its other outputs that are still wanted are made a
// second time, ahead of need.
//
// Ananthanarayanan et al., "Reining in the Outliers in Map-Reduce Clusters using Mantri", OSDI 2010, 5.4: losses
// cluster (half of all recomputes come from 5 % of the machines), so a worker that could not serve one output
// will probably not serve the others. Wanted: a reader has not committed, and there is no second copy. The task
// stays committed meanwhile (Plan::Remake): an equal report adds a copy, and is the commit if the first copy has
// gone by then.
//
// These attempts take free slots at once, and slots that their own job would have used for what comes after
// them; never those of other jobs. The suspicion ends when everything is under way, when the worker has gone,
// or when it has served a read since: then it was not the worker.
#pragma once

#include <memory>

#include "master/sched/pipeline.h"
#include "master/sched/policy.h"

namespace mr::sched {

// No parameters.
Result<std::unique_ptr<Policy>> MakeMantriRecompute(PolicyParams* params);

}  // namespace mr::sched
