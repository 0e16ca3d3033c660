// delay: a task waits for a worker that holds its input, then for one in its rack, then takes any. Meanwhile the slot
// goes to other jobs.
//
// Delay scheduling (Zaharia et al., EuroSys 2010, algorithm 2), as the paper on the Coupling Scheduler describes it. A
// job that has waited D launches
//   on a worker with the input             at once
//          in a rack with the input        if D >= T1
//          anywhere                        if D >= T1 + T2
// clock=paper: D counts from the job's last launch on a worker with its input (T1 = T2 = 15 s). A job that gets such a
// launch now and then never goes elsewhere, however many slots are idle. With s slots of tasks that take 1/mu on
// average, P(all N tasks do so) = (1 - exp(-s mu T))^N. Spark had this as SPARK-18886.
// Departures:
// - clock=offer, the default: D counts from the first refused offer, until none would have been refused for T1 + T2 (T1
//   = T2 = 3 s, Spark's spark.locality.wait).
// - Tasks that ran before, further attempts of a task, and tasks whose workers are all gone do not wait.
#pragma once

#include <memory>

#include "master/sched/pipeline.h"
#include "master/sched/policy.h"

namespace mr::sched {

// Parameters: clock=offer|paper, node and rack (T1, T2) in seconds.
Result<std::unique_ptr<Policy>> MakeDelay(PolicyParams* params);

}  // namespace mr::sched
