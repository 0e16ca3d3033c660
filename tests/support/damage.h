// Damages files as disks do: flips single bits; zeroes, swaps or loses pages.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/rng.h"

namespace mr::test {

enum class Damage : uint8_t { kFlip, kZeroedPage, kSwappedPages, kLostPage, kLostFile };
inline constexpr uint64_t kDamagePage = 4096;

// Damages the file in place, at an offset that `rng` chooses below `in_use` bytes (0: the whole file). Returns a
// description for messages, or "" if nothing was done: the file is missing, or the damage would not change it.
std::string Hurt(const std::string& path, Damage damage, Rng& rng, uint64_t in_use = 0);

}  // namespace mr::test
