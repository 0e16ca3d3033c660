// A record of the policy that steers a job by its deadline, for people: its guaranteed slots and its predictions over
// time. Bounded. Kept in snapshots. Thread: the master's.
#pragma once

#include <cstdint>
#include <vector>

#include "master/sched/decision.h"

namespace mr::master {

// One step of the policy.
struct SteeringPoint {
  Duration at;          // since the submit
  uint32_t slots = 0;   // guaranteed from here on
  uint32_t asked = 0;   // would do by what was known then; the guarantee follows it slowly
  double progress = 0;  // of 1
  Duration left;        // expected, median
  Duration deadline;    // since the submit; 0 = points of utility instead
  template <class V>
  static void Fields(V&& v) {
    using T = SteeringPoint;
    v(&T::at, &T::slots, &T::asked, &T::progress, &T::left, &T::deadline);
  }
};

inline constexpr size_t kSteeringPoints = 120;  // more than a terminal has columns

struct Steering {
  std::vector<SteeringPoint> points;
  Duration held;  // guaranteed slot time up to `since`
  Instant since;
  uint32_t slots = 0;
  uint64_t steps = 0, stride = 1;  // each stride-th step is a point, and the newest

  bool any() const { return !points.empty(); }
  // held, up to `now`. Nothing is guaranteed to a job that has ended: see End.
  Duration HeldUntil(Instant now) const { return held + (now - since) * slots; }
  void Note(const sched::SetShare& share, Instant at);
  void End(Instant at);
  template <class V>
  static void Fields(V&& v) {
    v(&Steering::points, &Steering::held, &Steering::since, &Steering::slots, &Steering::steps, &Steering::stride);
  }
};

}  // namespace mr::master
