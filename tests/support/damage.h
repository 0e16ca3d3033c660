// Damage to files, as disks do it: single bits that flip, and pages that are zeroed, swapped or lost.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/rng.h"

namespace mr::test {

enum class Damage : uint8_t { kFlip, kZeroedPage, kSwappedPages, kLostPage, kLostFile };
inline constexpr uint64_t kDamagePage = 4096;

// Does it to the file in place, at a place that `rng` chooses below `in_use` bytes (0: the whole file). Returns what
// was done, for messages; empty where the file is not there or would be the same afterwards (then nothing was done).
std::string Hurt(const std::string& path, Damage damage, Rng& rng, uint64_t in_use = 0);

}  // namespace mr::test
