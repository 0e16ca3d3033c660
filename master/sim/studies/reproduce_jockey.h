// Parts of Jockey's study (reproduce.h), by file.
#pragma once

#include "master/sim/studies/reproduce.h"

namespace mr::sim {

// reproduce_jockey_runs.cc: deadlines met and slots held on a shared cluster.
Figure JockeyDeadlines();
Figure JockeyTpch();  // the same with TPC-H's queries as measured
Figure JockeyChanges();
Figure JockeySensitivity();

}  // namespace mr::sim
