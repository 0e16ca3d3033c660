// Times of day in certificates and tokens, which other machines and later starts read. Values only: callers read the
// clock (common/io/clock.h).
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "common/base/time.h"

namespace mr::secure {

// Seconds since 1970, UTC.
struct UnixTime {
  int64_t seconds = 0;
  constexpr auto operator<=>(const UnixTime&) const = default;
  // Adds a duration. Fractions of a second are dropped.
  constexpr UnixTime operator+(Duration d) const { return {seconds + d.ns / 1'000'000'000}; }
  constexpr UnixTime operator-(Duration d) const { return {seconds - d.ns / 1'000'000'000}; }
  // Returns the time between. At most 292 years, the range of Duration: times may come from a file or a peer.
  constexpr Duration operator-(UnixTime o) const {
    constexpr int64_t kMost = INT64_MAX / 1'000'000'000;
    int64_t between = 0;
    if (__builtin_sub_overflow(seconds, o.seconds, &between)) between = seconds > o.seconds ? kMost : -kMost;
    return Seconds(between > kMost ? kMost : between < -kMost ? -kMost : between);
  }
};

// Returns "2026-11-28 21:52:03 UTC".
std::string Text(UnixTime time);

inline constexpr Duration kDay = Seconds(24 * 3600);

}  // namespace mr::secure
