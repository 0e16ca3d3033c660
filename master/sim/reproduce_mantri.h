// Figures of `mrsim reproduce mantri` that run recorded jobs.
#pragma once

#include "master/sim/reproduce.h"

namespace mr::sim {

Figure MantriJobsOfRumen();  // each alone on the recorded cluster
Figure MantriPhases();       // of these jobs, each alone, in one wave
Figure MantriWaves();        // and in two
Figure MantriJobsOfGoogle();
Figure MantriWholeTrace();  // Rumen's, all together

}  // namespace mr::sim
