// dolly: every task of a small job runs as several clones from its start, and the first to finish wins.
//
// Dolly (Ananthanarayanan, Ghodsi, Shenker, Stoica: Effective Straggler Mitigation: Attack of the Clones, NSDI 2013),
// sections 3 and 4:
//   c = CloneCount(p, n, epsilon)             clones of each of a phase's n tasks, the first attempt included
//   admitted iff B_U + c n <= beta C (or `floor` slots, if that is more), and U + c n <= tau C;
//                all tasks of the phase or none; a phase has no more clones than the phases it reads
//   p = share of attempts with a progress rate below half of their phase's median
// C: slots of the cluster; U: slots in use; B_U: slots that admitted phases may hold, c for each task that is not
// committed, and what still runs of the others. A phase is decided when its first task is about to run. Clones are
// placed like any other task, each on another worker. Tasks that run as clones get no speculative attempts.
//
// Parameters:
// - epsilon (.05), beta (.05), tau (.8).
// - floor (0 slots): the least budget, for clusters whose beta C is less than one job's clones.
// - p (.1): used until 50 attempts were seen. refresh (1h): p covers the present and the last such span.
// - charge. literal: c n, as in the paper's pseudocode. extra: (c - 1) n.
// - admission. budget. preempt: clones of phases with more tasks make room. fcfs: first come, while budget is left.
// - partial (off). on: as many tasks of a phase as fit are cloned.
// - in_share (off). on: tau does not bind a job that holds, all clones counted, no more slots than its fair share
//   (fair_share.h). beta does.
// - share (0: off): clones take at most that share of all slot time (clone_credit.h).
// - network (off). on: phases that the network bounds, or that read their splits over a slow one, get no clones
//   (network_bound.h).
// Departures:
// - share is not the paper's. Its budget is a share of the cluster, which an idle cluster's few jobs would fill.
// - in_share is not the paper's. tau keeps clones from the slots of others that wait, but a job takes its own share
//   from nobody. On a full cluster small jobs would have no clones (adr/0010).
// - p is measured from attempts of jobs that ended; killed ones count by the progress that they had reported.
// - Clones never exceed the number of workers.
#pragma once

#include <memory>

#include "master/sched/pipeline.h"
#include "master/sched/policy.h"

namespace mr::sched {

// Ends the cloning of tasks and forgets the charges for it, since no policy of the list clones them any more.
void DropDolly(const View& view, Plan* plan);

Result<std::unique_ptr<Policy>> MakeDolly(PolicyParams* params);

}  // namespace mr::sched
