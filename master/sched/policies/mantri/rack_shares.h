// Computes the share of a shuffle that each rack should read, so that the slowest uplink or downlink takes least time.
// Pure functions, used by mantri_placement.
//
// Mantri (OSDI 2010) 5.3: rack i holds D_i of the input's D bytes and runs the share a_i of the reduces;
//   up_i = D_i (1 - a_i) / bu_i     down_i = a_i (D - D_i) / bd_i     cost(a) = max_i max(up_i, down_i)
#pragma once

#include <cstdint>
#include <vector>

namespace mr::sched {

struct RackLoad {
  double data = 0;          // D_i >= 0, bytes
  double up = 1, down = 1;  // bu_i, bd_i > 0: bytes per second, or any unit if nothing is measured
  double most = 1;          // upper bound of a_i
};

// Returns the cost in seconds. Requires: as many shares as racks.
double ShuffleCost(const std::vector<RackLoad>& racks, const std::vector<double>& shares);

// Returns the shares with the least cost, to within 1e-12 of it. Bisection over T = cost, with
//   lo_i = max(0, 1 - T bu_i / D_i)   hi_i = min(most_i, T bd_i / (D - D_i))
// T is feasible iff lo_i <= hi_i for all i and sum lo <= 1 <= sum hi. Then all a_i stand equally far between lo_i and
// hi_i. If the racks together may not take everything, `most` is taken as if it were larger.
std::vector<double> BestShares(std::vector<RackLoad> racks);

// Returns the shares as numbers of tasks with sum n: rounded down, and the rest one by one where it costs least. No
// number is above most_i * n, unless all are at it.
std::vector<uint32_t> WholeTasks(const std::vector<RackLoad>& racks, const std::vector<double>& shares, uint32_t n);

}  // namespace mr::sched
