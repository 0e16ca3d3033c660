// Time as one loop lived it: the clock, less the stretches in which the loop did not run.
//
// A process that was stopped (SIGSTOP, a suspended machine, a host that stood still) reads a clock that has gone on
// although it heard nobody meanwhile. Leases that are measured on lived time do not run out in such a stretch.
#pragma once

#include <algorithm>

#include "common/base/time.h"

namespace mr {

// Pure; not thread-safe: one per loop.
class LivedClock {
 public:
  // longest_gap: reads that are further apart mean that the loop stood still. The loop must read at least every
  // `period` (shorter than longest_gap) while it runs; of a gap only one period counts as lived.
  constexpr LivedClock(Instant now, Duration period, Duration longest_gap)
      : last_(now), period_(period), longest_gap_(longest_gap) {}

  // The lived instant, which never goes back. now: the host's monotonic clock.
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
  // How much the last Read left out; 0: the loop had run.
  constexpr Duration last_gap() const { return last_gap_; }
  // All that was left out so far. lived + stood_still() is the host's clock.
  constexpr Duration stood_still() const { return stood_still_; }

 private:
  Instant last_;
  const Duration period_, longest_gap_;
  Duration last_gap_, stood_still_;
};

}  // namespace mr
