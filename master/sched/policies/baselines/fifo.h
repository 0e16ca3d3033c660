// fifo: jobs by priority, then by arrival; the control in every comparison.
//
// Hadoop's FIFO scheduler. On a slot offer it serves the first stage that has something to run. In the stage come tasks
// that ran before (failed, or their output was lost), then tasks with input on this worker, in its rack, any. If no
// task anywhere has all of its inputs, tasks start early and wait on their slot, once nothing upstream is pending.
// Their fetches overlap with the last upstream attempts. If upstream work returns and finds no slot, waiting attempts
// of the same job are taken back, the latest first. Without this, three early reduces on three slots and one lost
// worker would wait forever.
//
// Departure: reduces start early when nothing upstream is pending, not at a share of finished maps (slow start belongs
// to `fair`).
#pragma once

#include <memory>

#include "master/sched/pipeline.h"
#include "master/sched/policy.h"

namespace mr::sched {

// Takes no parameters.
Result<std::unique_ptr<Policy>> MakeFifo(PolicyParams* params);

}  // namespace mr::sched
