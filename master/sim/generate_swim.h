// When jobs come and how large they are, as SWIM's record of a day of Facebook's Hadoop has it (FB-2010_0, 24,442
// jobs; a map per 128 MiB of input, at least one, and a reduce per GiB of shuffle: papers.md 1.4).
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/base/rng.h"

namespace mr::sim {

inline constexpr size_t kDollyBins = 5;  // 1 to 10, 11 to 50, 51 to 150, 151 to 500 tasks, more

// Seconds to the next submit: 3.4 in the mean, coefficient of variation 1.5.
double SwimGap(Rng& rng);

struct SwimSize {
  uint32_t maps = 1, reduces = 0;
};
// Of a job of this bin. REQUIRES bin < kDollyBins.
SwimSize SwimSizeIn(size_t bin, Rng& rng);

}  // namespace mr::sim
