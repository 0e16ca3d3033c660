// Parts of Jockey's study (reproduce.h), by file.
#pragma once

#include "master/sim/reproduce.h"

namespace mr::sim {

// reproduce_jockey_runs.cc: deadlines met and slots held on a cluster that others use, too.
Figure JockeyDeadlines();
Figure JockeyTpch();  // the same on TPC-H's queries as they were measured
Figure JockeyChanges();
Figure JockeySensitivity();

}  // namespace mr::sim
