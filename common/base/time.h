// Instants and durations as data. Nothing here reads a clock: shells do that (common/io/clock.h), and
// cores get the time with their events.
#pragma once

#include <compare>
#include <cstdint>

namespace mr {

// A length of time in nanoseconds; may be negative as a difference.
struct Duration {
  int64_t ns = 0;
  constexpr auto operator<=>(const Duration&) const = default;
  constexpr Duration operator+(Duration o) const { return {ns + o.ns}; }
  constexpr Duration operator-(Duration o) const { return {ns - o.ns}; }
  constexpr Duration operator*(int64_t k) const { return {ns * k}; }
  constexpr double seconds() const { return static_cast<double>(ns) * 1e-9; }
  constexpr int64_t millis() const { return ns / 1'000'000; }
};

constexpr Duration Nanos(int64_t n) { return {n}; }
constexpr Duration Micros(int64_t n) { return {n * 1'000}; }
constexpr Duration Millis(int64_t n) { return {n * 1'000'000}; }
constexpr Duration Seconds(int64_t n) { return {n * 1'000'000'000}; }
constexpr Duration FromSeconds(double s) { return {static_cast<int64_t>(s * 1e9)}; }

// A point in time on one owner's monotonic clock. Instants of different owners must never be compared.
struct Instant {
  int64_t ns = 0;
  constexpr auto operator<=>(const Instant&) const = default;
  constexpr Instant operator+(Duration d) const { return {ns + d.ns}; }
  constexpr Duration operator-(Instant o) const { return {ns - o.ns}; }
};

}  // namespace mr
