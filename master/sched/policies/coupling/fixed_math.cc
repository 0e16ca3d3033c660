#include "master/sched/policies/coupling/fixed_math.h"

#include <cmath>

#include "common/base/check.h"

namespace mr::sched {

namespace {
constexpr double kLn2 = 0.693147180559945309417;
}  // namespace

double FixedExp(double x) {
  MR_CHECK(!(x > 700), "e^x would be no double");
  if (x < -700) return 0;
  // x = n ln 2 + r with |r| <= ln 2 / 2, where twelve terms of the series are enough.
  const double n = std::floor(x / kLn2 + .5);
  const double r = x - n * kLn2;
  double sum = 1;
  for (int k = 14; k >= 1; --k) sum = 1 + sum * r / k;
  return std::ldexp(sum, static_cast<int>(n));
}

double FixedLog(double x) {
  MR_CHECK(!(x <= 0), "the logarithm of no positive number");
  int n = 0;
  double m = std::frexp(x, &n);  // x = m 2^n, m in [.5, 1)
  if (m < 0.70710678118654752) {
    m *= 2;
    --n;
  }
  // ln m = 2 artanh s with |s| < .172: 9 terms.
  const double s = (m - 1) / (m + 1), s2 = s * s;
  double sum = 0;
  for (int k = 19; k >= 1; k -= 2) sum = sum * s2 + 1.0 / k;
  return 2 * s * sum + n * kLn2;
}

}  // namespace mr::sched
