// The lived time of one loop: the clock, less the periods in which the loop did not run.
//
// The clock goes on while a process is stopped (SIGSTOP, a suspended machine, a host that stands still), although the
// process receives no message then. Leases that are measured on lived time do not run out in such a period.
#pragma once

#include <algorithm>

#include "common/base/time.h"

namespace mr {

// Pure. Not safe for concurrent use: one per loop.
class LivedClock {
 public:
  // longest_gap: reads that are further apart mean that the loop stood still; one period of such a gap counts as lived.
  // Requires: the loop reads at least every `period` while it runs; period < longest_gap.
  constexpr LivedClock(Instant now, Duration period, Duration longest_gap)
      : last_(now), period_(period), longest_gap_(longest_gap) {}

  // Returns the lived instant, which never goes back. now: the host's monotonic clock.
  constexpr Instant Read(Instant now) {
    const Duration gap = now - last_;
    last_gap_ = Duration{};
    if (gap > longest_gap_) {
      last_gap_ = gap - period_;
      stood_still_ = stood_still_ + last_gap_;
    }
    last_ = std::max(last_, now);
    return {last_.ns - stood_still_.ns};
  }
  // Returns the time that the last Read did not count; 0 if the loop was running.
  constexpr Duration last_gap() const { return last_gap_; }
  // Returns the sum of all time that was not counted so far. lived + stood_still() is the host's clock.
  constexpr Duration stood_still() const { return stood_still_; }

 private:
  Instant last_;
  const Duration period_, longest_gap_;
  Duration last_gap_, stood_still_;
};

}  // namespace mr
