// The only reader of the operating system's clocks.
#pragma once

#include <cstdint>

#include "common/base/time.h"

namespace mr {

// Returns CLOCK_BOOTTIME: monotonic, and it goes on while the machine sleeps, so that leases expire.
Instant Now();
// Returns milliseconds since 1970. For people only, never for liveness or order.
uint64_t WallClockMs();
// Returns a random non-zero 64-bit number from the kernel, for incarnations and cluster ids.
uint64_t RandomId();

}  // namespace mr
