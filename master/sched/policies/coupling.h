// coupling: reduces keep step with the maps that they read, and run near their outputs; maps go
// where their input is not by a chance that falls the more such workers are left (Tan, Meng, Zhang:
// Coupling Task Progress for MapReduce Resource-Aware Scheduling, INFOCOM 2013; papers.md 5.1;
// formulas: coupling_rules.h, the wait for a central worker: wait_scheduling.h).
//
//   maps      what a policy before it drafts is launched where its input is, else with chance p
//             (.02 at least); at a refusal the slot goes to the other jobs
//   reduces   of no job but the one whose are furthest behind (m > 0), on a worker near what its
//             maps made
//
// A "reduce" is a task of any stage that reads others, its "maps" are their tasks: the rule is the
// same for each edge of a DAG that is read as it grows. Tasks that ran before, and clones, wait for
// nobody.
//
// From the paper's heartbeats to offers: N heartbeats are one offer period, in which each worker
// with a free slot is offered. `wait` is a time, and what the paper does in heartbeats iN to (i+1)N
// is done in the period i + 1 behind the choice.
//
// Parameters: threshold (3), beta (by load; or a number, the paper's Figure 11), peek (64 workers
// looked at for a map, a guess: a share of them is off by 6 % at most in two of three; all where there are no more, as
// in the paper), clock (offer: the chosen reduce may start with the very offer that chose it, where that is from the
// best worker; paper: with a later one), min_maps and min_reduces (.2 and .1 of all slots, guesses; 0 with clock=paper:
// what each kind leaves the other on workers without caps per kind, least_slots.h).
// Departures: reduces that only wait can be taken back, by what places work (fair, fifo), so
// that no mix locks up; a job's reduce waits nowhere where its own maps could run (place.h).
// Where slots have caps per kind, as in the paper's cluster, no reduce is: its slot could run no map.
#pragma once

#include <memory>

#include "master/sched/pipeline.h"
#include "master/sched/policy.h"

namespace mr::sched {

Result<std::unique_ptr<Policy>> MakeCoupling(PolicyParams* params);

}  // namespace mr::sched
