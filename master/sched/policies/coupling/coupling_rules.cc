#include "master/sched/policies/coupling/coupling_rules.h"

#include <algorithm>

#include "master/sched/policies/coupling/fixed_math.h"

namespace mr::sched {

double CouplingDelta(uint64_t reduces, double threshold) {
  return 1 - FixedExp(-static_cast<double>(reduces) / threshold);
}

double Mismatch(const StepState& s, double threshold) {
  if (s.pending_reduces == 0) return 0;
  if (s.pending_maps == 0) return 4 + 1 / static_cast<double>(s.pending_reduces);
  const double reduces = static_cast<double>(s.reduces);
  const double unit = CouplingDelta(s.reduces, threshold) * static_cast<double>(s.maps) / reduces;
  return (static_cast<double>(s.finished_maps) / unit - static_cast<double>(s.reduces - s.pending_reduces + 1)) /
         reduces;
}

double PeekBeta(double pending_maps, double free_workers) {
  return .1 + .9 * (1 - FixedExp(-pending_maps / std::max(free_workers, 1.0)));
}

double PeekChance(double alpha, double beta, double share, double free_workers) {
  if (share <= 0) return 1;
  return 1 - alpha * FixedExp(beta * FixedLog(share)) * (1 - FixedExp(-free_workers));
}

}  // namespace mr::sched
