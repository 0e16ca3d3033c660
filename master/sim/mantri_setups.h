// Clusters and jobs in which Mantri's placement, replication and early recomputation have something to do, as
// experiments: for tests and for `mrsim reproduce mantri`.
#pragma once

#include "master/sim/simulation.h"

namespace mr::sim {

// Outputs are lost at `loss` of reads' first tries over all workers, half of them by 5 % of the workers (Mantri:
// half of all recomputes come from 5 % of the machines): 40 workers of 4 slots in 4 racks; a job of 80 maps of
// 128 MiB and 200 reduces each 60 s, so that reduces run in waves. A map's output is a sixteenth of its input:
// a guess. Attempts differ, but no straggler hides what a loss costs.
Experiment LossyOutputs(const std::string& policies, double loss, uint64_t seed);

// papers.md 2.3's vector as a job: rack a holds 80 % of the input, b and c 10 % each, and the racks' links are an
// eighth of their hosts'. Shuffle of 4 GB.
Experiment UnevenRacks(const std::string& policies, uint64_t seed);

}  // namespace mr::sim
