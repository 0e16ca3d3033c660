#include "master/server/steering.h"

#include <cmath>

namespace mr::master {

void Steering::Note(const sched::SetShare& share, Instant at) {
  held = HeldUntil(at);
  since = at;
  slots = share.slots;
  const std::vector<double>& n = share.reason.numbers;
  if (share.reason.code != sched::ReasonCode::kAllotted || n.size() < 6) return;
  if (points.size() == kSteeringPoints) {
    // The first stays, and the newest.
    for (size_t i = 1; 2 * i < points.size(); ++i) points[i] = points[2 * i];
    points.resize(kSteeringPoints / 2);
  }
  points.push_back({FromSeconds(n[3]), share.slots, static_cast<uint32_t>(std::lround(n[1])), n[2] / 100,
                    FromSeconds(n[4]), FromSeconds(n[5])});
}

void Steering::End(Instant at) {
  held = HeldUntil(at);
  since = at;
  slots = 0;
}

}  // namespace mr::master
