// The cluster and the two workloads of Dolly (Ananthanarayanan et al., NSDI 2013, section 6), as experiments: for
// tests and for `mrsim reproduce dolly`.
#pragma once

#include "master/sim/simulation.h"

namespace mr::sim {

enum class DollyMix : uint8_t { kFacebook, kBing };

// Small jobs as chains of so many phases; 0: as SWIM has them, with reduces or without.
struct DollyShape {
  uint32_t phases = 0;
  sched::EdgeKind edge = sched::EdgeKind::kAllToAll;  // between the phases
};

// 150 machines of 12 slots, Google's straggler factors, Hadoop's heartbeat; no jobs.
Experiment DollyCluster(const std::string& policies, uint64_t seed);

// So many jobs of the mix on 150 machines of 12 slots. What its numbers are taken from is in dolly_setups.cc.
Experiment DollyRun(DollyMix mix, uint32_t jobs, const std::string& policies, uint64_t seed,
                    const DollyShape& shape = {});

// The same where no task is slower than the median one: what is there to be gained at most.
Experiment WithoutStragglers(Experiment e);

}  // namespace mr::sim
