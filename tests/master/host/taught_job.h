// A job whose runs are known to the second: FillTwoStages of 10,000 bytes with two reduces, three maps of 1000 s and
// two sums of 500 s.
#pragma once

#include <cstdint>
#include <string>

namespace mr::test {

// Deadlines for which the job is guaranteed three slots and two slots. With slack it takes 4800 s with one slot, 3000
// with two, 1800 with three and more.
inline constexpr uint64_t kThreeSlotsMs = 2'000'000, kTwoSlotsMs = 3'600'000;

// Four earlier runs of it, all days alike, as a profile below this directory.
void TeachTwoStages(const std::string& input, const std::string& profiles);

}  // namespace mr::test
