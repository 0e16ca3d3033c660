// The only reader of the operating system's clocks.
#pragma once

#include <cstdint>

#include "common/base/time.h"

namespace mr {

// CLOCK_BOOTTIME: monotonic, and goes on while the machine sleeps, so that leases run out.
Instant Now();
// Milliseconds since 1970, for people only; never for liveness or order.
uint64_t WallClockMs();
// A random non-zero 64-bit number from the kernel: incarnations, cluster ids.
uint64_t RandomId();

}  // namespace mr
