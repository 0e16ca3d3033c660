// Figures of `mrsim reproduce mantri` that run recorded jobs.
#pragma once

#include "master/sim/studies/reproduce.h"

namespace mr::sim {

Figure MantriJobsOfRumen();  // each alone on the recorded cluster
Figure MantriPhases();       // the phases of these jobs, each alone, in one wave
Figure MantriWaves();        // the same in two waves
Figure MantriJobsOfGoogle();
Figure MantriWholeTrace();  // Rumen's jobs, all together

}  // namespace mr::sim
