// Dolly: every task of a small job runs as several clones from its start, and the first to finish wins
// (Ananthanarayanan, Ghodsi, Shenker, Stoica: Effective Straggler Mitigation: Attack of the Clones, NSDI 2013,
// sections 3 and 4; papers.md 1.1).
//
//   c = CloneCount(p, n, epsilon)             copies of each of a phase's n tasks, the first included
//   admitted iff B_U + c n <= beta C (or `floor` slots, where that is more), and U + c n <= tau C;
//                all tasks of the phase or none; a phase has no more clones than the phases it reads
//   p = share of attempts whose progress rate is below half of their phase's median
//
// B_U is what admitted phases may hold: c for each task that is not committed, and what still runs of the others.
// Decided when a phase's first task is about to run. Where the clones run is up to what places work: they are
// tasks like any other, each clone on another worker. Of tasks that run as clones no speculative copies are made.
//
// Parameters: epsilon (.05), beta (.05), tau (.8), floor (0 slots: a budget of at least so many, for clusters of
// which beta is less than one job's clones), p (.1, until 50 attempts were seen), refresh (1h; p is of the
// present and the last such span), charge (literal: c n as the paper's pseudocode has it; extra: (c - 1) n),
// admission (budget; preempt: clones of phases of more tasks make room; fcfs: whoever comes while budget is left),
// partial (off; on: as many tasks of a phase as fit are cloned), in_share (off; on: tau does not bind a job that holds,
// all clones counted, no more slots than fairness gives it: fair_share.h. beta does).
// Departures: in_share is not the paper's: where others wait tau keeps clones from them, but slots of its share a job
// takes from nobody, and on a full cluster small jobs would have no clones (adr/0010). p is measured from attempts of
// jobs that ended, killed ones by the progress that they had reported; clones never exceed the workers that there are.
#pragma once

#include <memory>

#include "master/sched/pipeline.h"
#include "master/sched/policy.h"

namespace mr::sched {

Result<std::unique_ptr<Policy>> MakeDolly(PolicyParams* params);

}  // namespace mr::sched
