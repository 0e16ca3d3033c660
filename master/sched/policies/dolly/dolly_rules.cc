#include "master/sched/policies/dolly/dolly_rules.h"

#include <algorithm>

namespace mr::sched {

namespace {

// Tolerates a limit that rounding has left just below its value: .07 * 100 slots are 7.
constexpr double kRounding = 1e-9;

double PowerOf(double base, uint32_t exponent) {
  double result = 1;
  for (; exponent > 0; exponent >>= 1, base *= base) {
    if (exponent & 1) result *= base;
  }
  return result;
}

// Returns 1 - (1 - q)^n, the chance that at least one of n happens. P(A or B) = a + b (1 - a), doubled as in PowerOf.
double AnyOf(double q, uint32_t n) {
  double result = 0;
  for (; n > 0; n >>= 1, q += q * (1 - q)) {
    if (n & 1) result += q * (1 - result);
  }
  return result;
}

// Returns 1 - Psi(d), the chance that some of n tasks has fewer than d clones, of c, that do not straggle.
double AnyShort(double p, uint32_t n, uint32_t c, uint32_t d) {
  if (d > c) return 1;
  double ways = 1, fewer = 0;  // ways: C(c, g)
  for (uint32_t g = 0; g < d; ++g) {
    fewer += ways * PowerOf(1 - p, g) * PowerOf(p, c - g);
    ways = ways * (c - g) / (g + 1);
  }
  return AnyOf(std::min(fewer, 1.0), n);
}

}  // namespace

double TaskLevelStraggles(double p, uint32_t n, uint32_t c) { return AnyOf(PowerOf(p, c), n); }

double JobLevelStraggles(double p, uint32_t n, uint32_t c) { return PowerOf(AnyOf(p, n), c); }

uint32_t CloneCount(double p, uint32_t n, double epsilon) {
  uint32_t c = 1;
  while (c < kMostClones && TaskLevelStraggles(p, n, c) > epsilon * (1 + kRounding)) ++c;
  return c;
}

uint32_t StrandCount(double p, uint32_t n, double epsilon, uint32_t most) {
  uint32_t c = 1;
  while (c < most && JobLevelStraggles(p, n, c) > epsilon * (1 + kRounding)) ++c;
  return c;
}

double CacStraggles(double p, uint32_t n, uint32_t c) {
  // d: clones of each downstream task that no straggler feeds.
  double sum = AnyShort(p, n, c, 1);
  for (uint32_t d = 1; d <= c; ++d) {
    sum += (AnyShort(p, n, c, d + 1) - AnyShort(p, n, c, d)) * TaskLevelStraggles(p, n, d);
  }
  return sum;
}

double CcStraggles(double p, uint32_t n, uint32_t c) {
  const double upstream = AnyShort(p, n, c, 1), downstream = TaskLevelStraggles(p, n, c);
  return upstream + downstream * (1 - upstream);
}

Demand DemandOf(uint32_t clones, uint64_t tasks, const Budget& budget) {
  const uint64_t charged = clones <= 1 ? 0 : budget.originals ? clones : clones - 1;
  return {charged * tasks, clones * tasks};
}

bool Admits(uint64_t used_budget, const Demand& demand, uint64_t used_slots, uint64_t all_slots, const Budget& budget) {
  if (demand.charge == 0) return true;
  const double all = static_cast<double>(all_slots);
  const double limit = std::max(static_cast<double>(budget.floor), budget.beta * all);
  return static_cast<double>(used_budget + demand.charge) <= limit + kRounding * all &&
         static_cast<double>(used_slots + demand.slots) <= (budget.tau + kRounding) * all;
}

}  // namespace mr::sched
