// Decides which worker of a simulated cluster is offered work first.
#pragma once

#include "master/sim/engine/simulation.h"

namespace mr::sim {

// Renumbers the workers so that the seed decides which of them is the first. A master goes on with its offers behind
// the worker of the last launch, so on an idle cluster a job begins anywhere. A simulation begins at its first worker,
// which would favour the same one in all runs.
void OfferFromAnyWorker(Experiment* experiment);

}  // namespace mr::sim
