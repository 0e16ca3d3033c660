// mantri_placement: reduces go to racks so that no rack's uplink or downlink delays the shuffle.
//
// Mantri (Ananthanarayanan et al., "Reining in the Outliers in Map-Reduce Clusters using Mantri", OSDI 2010), 5.3, with
// the symbols of rack_shares.h:
//   cost(a) = max_i max(D_i (1 - a_i) / bu_i, a_i (D - D_i) / bd_i)
// It applies to first attempts of stages that read all outputs of another stage, if at least two racks hold some. Other
// tasks go by locality alone. A rack gets its share of the stage's tasks, as many as it has slots for. A launch beyond
// that is withdrawn, and other jobs have the slot.
//
// Parameters:
// - wait (3s, as delay's): once launches of the stage have been held back this long, they go to any rack. This lasts
//   until none would have been held back for as long. So a full rack never starves a stage.
// - early_wait (10s, a guess): the same while inputs are still being made. A reduce could then only wait on its slot,
//   and the racks with much input are full of the attempts that make it. Not longer, as a stage that is held back is
//   offered every free slot again in each offer period.
//
// Departures:
// - Bandwidths are not measured. All racks count as equal, as in the paper where it has no measurement.
// - D_i before all upstream tasks have committed: running ones count as large as the mean of committed ones. Shares are
//   computed anew when an eighth more of them has begun, and when all have committed.
// - Slots: those that are free, or fall free when upstream attempts end. If the stage has more tasks than that: the
//   rack's part of the cluster's slots.
#pragma once

#include <memory>

#include "master/sched/pipeline.h"
#include "master/sched/policy.h"

namespace mr::sched {

Result<std::unique_ptr<Policy>> MakeMantriPlacement(PolicyParams* params);

}  // namespace mr::sched
