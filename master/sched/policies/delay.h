// delay: a task waits a while for a worker that holds its input, then for one in its rack, then takes
// any; meanwhile the slot goes to other jobs.
//
// After delay scheduling (Zaharia et al., EuroSys 2010, algorithm 2), as papers on the Coupling
// Scheduler describe it: of a job that has waited D,
//   launch on a worker with the input             at once
//          in a rack with the input               where D >= T1
//          anywhere                               where D >= T1 + T2
// clock=paper: D counts from the job's last launch on a worker with its input (T1 = T2 = 15 s). A job
// that now and then gets such a launch never goes elsewhere, however many slots are idle: with s slots
// of tasks that take 1/mu on average, P(all N tasks so) = (1 - exp(-s mu T))^N; Spark had it as
// SPARK-18886. clock=offer, the default, departs from it: D counts from the first offer that was
// refused, until for T1 + T2 none would have been (T1 = T2 = 3 s, Spark's spark.locality.wait).
// Tasks that ran before, copies, and tasks whose workers are all gone do not wait.
#pragma once

#include <memory>

#include "master/sched/pipeline.h"
#include "master/sched/policy.h"

namespace mr::sched {

// clock=offer|paper, node and rack (T1, T2) in seconds.
Result<std::unique_ptr<Policy>> MakeDelay(PolicyParams* params);

}  // namespace mr::sched
