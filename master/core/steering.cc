#include "master/core/steering.h"

#include <cmath>

namespace mr::master {

void Steering::Note(const sched::SetShare& share, Instant at) {
  const Duration waited = at - since;
  held = HeldUntil(at);
  since = at;
  slots = share.slots;
  const std::vector<double>& n = share.reason.numbers;
  const bool allotted = n.size() >= 6;  // a guarantee has the numbers behind it; its end has none
  if (!allotted && points.empty()) return;
  SteeringPoint point;
  if (allotted) {
    point = {FromSeconds(n[3]), share.slots,       static_cast<uint32_t>(std::lround(n[1])),
             n[2] / 100,        FromSeconds(n[4]), FromSeconds(n[5])};
  } else {
    // Its guarantee is over.
    point = points.back();
    point.at = point.at + waited;
    point.slots = point.asked = 0;
    point.deadline = {};
  }
  // The newest stands for those since the last that stays.
  const uint64_t step = steps++;
  if (step > 0 && (step - 1) % stride != 0) points.pop_back();
  points.push_back(point);
  if (points.size() < kSteeringPoints) return;
  for (size_t i = 0; 2 * i < points.size(); ++i) points[i] = points[2 * i];
  points.resize((points.size() + 1) / 2);
  stride *= 2;
  if (points.back().at != point.at) points.push_back(point);
}

void Steering::End(Instant at) {
  held = HeldUntil(at);
  since = at;
  slots = 0;
}

}  // namespace mr::master
