// coupling: reduces keep step with the maps that they read, and run near their outputs. The chance of a map away from
// its input falls as more workers hold input.
//
// Coupling Scheduler (Tan, Meng, Zhang: Coupling Task Progress for MapReduce Resource-Aware Scheduling, INFOCOM 2013),
// algorithms 1 to 3. Formulas: coupling_rules.h; the wait for a central worker: wait_scheduling.h.
//   maps      a map that an earlier policy drafts is launched where its input is, else with probability p (.02 at
//             least); if it is refused, the slot goes to the other jobs
//   reduces   only those of the job whose reduces are furthest behind (m > 0), on a worker near its maps' outputs
//
// A "reduce" is a task of any stage that reads others, and its "maps" are their tasks. The rule is the same for each
// edge of a DAG that is read as it grows. Tasks that ran before, and clones, do not wait.
//
// From the paper's heartbeats to offers: N heartbeats are one offer period, in which each worker with a free slot is
// offered. `wait` is a time. What the paper does in heartbeats iN to (i+1)N is done in period i + 1 after the choice.
//
// Parameters:
// - threshold (3); beta (by load; or a number, as in the paper's figure 11).
// - peek (64 workers are examined for a map, a guess: a share of them is off by 6 % at most in two of three cases). All
//   are examined if there are no more, as in the paper.
// - clock. offer: the chosen reduce may start with the very offer that chose it, if that is from the best worker.
//   paper: with a later one.
// - min_maps and min_reduces (.2 and .1 of all slots, guesses; 0 with clock=paper): what each kind leaves the other on
//   workers without caps per kind (least_slots.h).
// Departures:
// - Reduces that only wait can be taken back by the policy that places work (fair, fifo), so that no mix locks up.
// - A job's reduce does not wait where its own maps could run (place.h). With caps per kind, as in the paper's cluster,
//   neither applies: no map could run on a reduce's slot.
#pragma once

#include <memory>

#include "master/sched/pipeline.h"
#include "master/sched/policy.h"

namespace mr::sched {

Result<std::unique_ptr<Policy>> MakeCoupling(PolicyParams* params);

}  // namespace mr::sched
