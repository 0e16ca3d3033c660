// Clusters and jobs for Mantri's placement, replication and early recomputation, as experiments: for tests and for
// `mrsim reproduce mantri`.
#pragma once

#include "master/sim/engine/simulation.h"

namespace mr::sim {

// Returns jobs whose outputs are lost. First tries of reads fail with probability `loss` on average, and 5 % of the
// workers have half of the losses. Source: Mantri (OSDI'10), where half of all recomputes come from 5 % of the
// machines. There are 40 workers of 4 slots in 4 racks. Every 60 s a job of 80 maps of 128 MiB and 200 reduces comes,
// so that reduces run in waves. A map's output is a sixteenth of its input, a guess. Attempts differ, but without
// stragglers, which would hide the cost of losses.
Experiment LossyOutputs(const std::string& policies, double loss, uint64_t seed);

// Returns the job of Mantri 5.3's placement: rack a holds 80 % of the input, b and c 10 % each (our example). The
// racks' links have an eighth of their hosts' bandwidth. It shuffles 4 GB.
Experiment UnevenRacks(const std::string& policies, uint64_t seed);

}  // namespace mr::sim
