// fifo: jobs by priority, then by arrival; the control in every comparison.
//
// On a slot offer, the first stage that has something to run, and in it: tasks that ran before
// (failed, or their output was lost), tasks whose input this worker holds, whose input is in its
// rack, any. When no task anywhere has all of its inputs, tasks start early and wait on their
// slot, once nothing upstream is pending: their fetches overlap with the last upstream attempts.
// When upstream work returns and finds no slot, waiting attempts of the same job are taken back,
// the latest first; without this, three early reduces on three slots and one lost worker would
// wait for ever.
//
// After Hadoop's FIFO scheduler. Departs from it: reduces start early when nothing upstream is
// pending, not at a share of finished maps (slow start belongs to `fair`).
#pragma once

#include <memory>

#include "master/sched/pipeline.h"
#include "master/sched/policy.h"

namespace mr::sched {

// Takes no parameters.
Result<std::unique_ptr<Policy>> MakeFifo(PolicyParams* params);

}  // namespace mr::sched
