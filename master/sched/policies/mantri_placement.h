// mantri_placement: reduces go to racks so that no rack's uplink or downlink makes the shuffle wait.
//
// Ananthanarayanan et al., "Reining in the Outliers in Map-Reduce Clusters using Mantri", OSDI 2010, 5.3:
// rack_shares.h has its formula. It looks at first attempts of stages that read all outputs of another stage
// of which at least two racks hold some; other tasks go by locality alone. A rack gets its share of the stage's
// tasks, as many as it has slots for; a launch beyond that is withdrawn, and other jobs have the slot.
//
// Parameters: wait (3s, as delay's): once a launch of the stage has been held back so long, launches go to any
// rack, until for as long none would have been held back. So a stage is never starved by a rack that is full.
// early_wait (10s, a guess): the same while inputs are still being made: then a reduce could only wait on its
// slot, and the racks with much input are full of those who make it. Not longer: whoever is held back is offered
// every free slot again each offer period.
//
// Departs from the paper:
// - Bandwidths are not measured: those of all racks count as equal, as the paper does where it has none.
// - D_i before all upstream tasks have committed: those that run count as large as the mean of those that have.
//   Shares are worked out anew when an eighth more of them has begun, and when all have committed.
// - Slots: those that are free, or fall free when what runs upstream ends; where the stage has more tasks than
//   that, the rack's part of the cluster's.
#pragma once

#include <memory>

#include "master/sched/pipeline.h"
#include "master/sched/policy.h"

namespace mr::sched {

Result<std::unique_ptr<Policy>> MakeMantriPlacement(PolicyParams* params);

}  // namespace mr::sched
