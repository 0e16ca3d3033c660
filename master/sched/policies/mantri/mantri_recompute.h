// mantri_recompute: after a first failed read from a worker, makes its other outputs that are still wanted a second
// time, before their readers need them.
//
// Mantri (Ananthanarayanan et al., "Reining in the Outliers in Map-Reduce Clusters using Mantri", OSDI 2010), 5.4.
// Losses cluster: half of all recomputes come from 5 % of the machines. So a worker that could not serve one output
// will probably not serve the others.
//   wanted: some reader has not committed, and the output has no second replica
// The task stays committed meanwhile (Plan::Remake). An equal report adds a replica, and is the commit if the first
// replica has gone by then.
//
// Its attempts take free slots at once, also those that later stages of their own job would use, but never those of
// other jobs. The suspicion ends when everything is under way, or when the worker has gone. It also ends when
// the worker has served a read since: then it was not at fault.
#pragma once

#include <memory>

#include "master/sched/pipeline.h"
#include "master/sched/policy.h"

namespace mr::sched {

// Takes no parameters.
Result<std::unique_ptr<Policy>> MakeMantriRecompute(PolicyParams* params);

}  // namespace mr::sched
