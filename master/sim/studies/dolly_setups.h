// The cluster and the two workloads of Dolly (Ananthanarayanan et al., NSDI'13, section 6), as experiments: for tests
// and for `mrsim reproduce dolly`.
#pragma once

#include "master/sim/engine/simulation.h"

namespace mr::sim {

enum class DollyMix : uint8_t { kFacebook, kBing };

// Small jobs as chains of `phases` phases; 0: as in SWIM, with or without reduces.
struct DollyShape {
  uint32_t phases = 0;
  sched::EdgeKind edge = sched::EdgeKind::kAllToAll;  // between phases
};

// Returns 150 machines of 12 slots, Google's straggler factors, Hadoop's heartbeat; no jobs.
Experiment DollyCluster(const std::string& policies, uint64_t seed);

// Returns `jobs` jobs of the mix on that cluster. Sources of its numbers: dolly_setups.cc.
Experiment DollyRun(DollyMix mix, uint32_t jobs, const std::string& policies, uint64_t seed,
                    const DollyShape& shape = {});

// Returns the same without tasks slower than the median: the most that can be gained.
Experiment WithoutStragglers(Experiment e);

}  // namespace mr::sim
