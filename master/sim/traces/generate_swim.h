// Gaps between submits and job sizes, as in SWIM's record of a day of Facebook's Hadoop (FB-2010_0, 24,442 jobs). The
// record has bytes; tasks are our choice: a map per 128 MiB of input, at least one, and a reduce per GiB of shuffle.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/base/rng.h"

namespace mr::sim {

inline constexpr size_t kDollyBins = 5;  // 1 to 10, 11 to 50, 51 to 150, 151 to 500, and more tasks

// Draws the seconds to the next submit: mean 3.4, coefficient of variation 1.5.
double SwimGap(Rng& rng);

struct SwimSize {
  uint32_t maps = 1, reduces = 0;
};
// Draws the size of a job of this bin. Requires: bin < kDollyBins.
SwimSize SwimSizeIn(size_t bin, Rng& rng);

}  // namespace mr::sim
