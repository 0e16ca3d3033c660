#include "master/sim/grid/student.h"

#include <cmath>

namespace mr::sim {

namespace {
constexpr double kHalfPi = 1.5707963267948966;
// Halvings of a bracket [b / 2, b]: more than a double has bits.
constexpr int kHalvings = 60;
}  // namespace

double StudentInside(double t, uint32_t freedom) {
  const double n = freedom;
  const double slope = t / std::sqrt(n), cos2 = 1 / (1 + slope * slope), cos = std::sqrt(cos2), sin = slope * cos;
  const bool odd = freedom % 2 == 1;
  // Odd: cos + 2/3 cos^3 + ...; even: 1 + 1/2 cos^2 + ...
  double term = odd ? cos : 1, sum = 0;
  for (uint32_t k = odd ? 1 : 0; k + 2 <= freedom; k += 2) {
    sum += term;
    term *= cos2 * (k + 1.0) / (k + 2.0);
  }
  return odd ? (std::atan(slope) + sin * sum) / kHalfPi : sin * sum;
}

double StudentBound(double inside, uint32_t freedom) {
  double high = 1;
  while (StudentInside(high, freedom) < inside) high *= 2;
  double low = high > 1 ? high / 2 : 0;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (StudentInside(middle, freedom) < inside ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace mr::sim
