// Bins of jobs by their number of tasks, as in Dolly (NSDI'13), Table 3.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace mr::sched {

// The most tasks in each bin but the last, which has no limit.
inline constexpr std::array<uint32_t, 4> kBinEnds = {10, 50, 150, 500};
inline constexpr uint32_t kBins = kBinEnds.size() + 1;

// Returns the bin, 1 to kBins.
constexpr uint32_t BinOfTasks(size_t tasks) {
  uint32_t bin = 1;
  while (bin < kBins && tasks > kBinEnds[bin - 1]) ++bin;
  return bin;
}

}  // namespace mr::sched
