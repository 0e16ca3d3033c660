#include "common/io/clock.h"

#include <sys/random.h>
#include <time.h>

#include "common/base/check.h"

namespace mr {
namespace {

int64_t ReadClock(clockid_t id) {
  timespec t{};
  MR_CHECK(clock_gettime(id, &t) == 0);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

}  // namespace

Instant Now() { return {ReadClock(CLOCK_BOOTTIME)}; }

uint64_t WallClockMs() { return static_cast<uint64_t>(ReadClock(CLOCK_REALTIME) / 1'000'000); }

uint64_t RandomId() {
  uint64_t id = 0;
  while (id == 0) MR_CHECK(getrandom(&id, sizeof id, 0) == sizeof id);
  return id;
}

}  // namespace mr
