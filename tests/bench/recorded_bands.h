// Recorded runs against the bands that `mrctl whatif` forecasts from each of them.
#pragma once

#include <string>
#include <vector>

#include "tests/bench/report.h"
#include "tests/support/cluster.h"

namespace mr::bench {

struct RecordedRun {
  std::string job;     // as mrctl prints it
  size_t list = 0;     // index of the list that it ran under
  double seconds = 0;  // measured
};

// Forecasts every run from every run, and counts measured times inside their bands. Adds two rows to the report: each
// run from its own record, before its band is widened (18 of 20), and all pairs (a band has nine of ten outcomes).
// Errors: ends the process. Cost: simulates each run about 40 times for each list.
void CheckBands(const test::Cluster& cluster, const std::vector<RecordedRun>& runs,
                const std::vector<std::string>& lists, Report* report);

}  // namespace mr::bench
