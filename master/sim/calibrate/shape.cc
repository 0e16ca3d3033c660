#include "master/sim/calibrate/shape.h"

#include <algorithm>
#include <cmath>

namespace mr::sim {

namespace {

constexpr double kPi = 3.14159265358979323846;

double Density(double x) { return std::exp(-x * x / 2) / std::sqrt(2 * kPi); }

// The share of tail factors that makes the share above 2 fit.
double TailFor(double sigma, double over) {
  const double body = sigma > 0 ? UpperTail(kFar / sigma) : 0;
  return body < 1 ? std::max(0.0, (over - body) / (1 - body)) : 0;
}

}  // namespace

double UpperTail(double x) { return std::erfc(x / std::sqrt(2.0)) / 2; }

double ClampedVariance(double sigma, double c) {
  if (sigma <= 0) return 0;
  const double a = c / sigma, out = UpperTail(a);
  return sigma * sigma * (1 - 2 * out - 2 * a * Density(a)) + 2 * c * c * out;
}

double JointTail(double sigma, double correlation, double c) {
  if (sigma <= 0 || correlation <= 0) return 0;
  // Plackett 1954: the derivative of P(X > a, Y > a) by the correlation t is exp(-a^2 / (1 + t)) / (2 pi sqrt(1 -
  // t^2)).
  constexpr int kSteps = 200;
  const double a = c / sigma, most = std::min(correlation, 0.999);
  double sum = 0;
  for (int i = 0; i < kSteps; ++i) {
    const double t = most * (i + 0.5) / kSteps;
    sum += std::exp(-a * a / (1 + t)) / (2 * kPi * std::sqrt(1 - t * t));
  }
  return sum * most / kSteps;
}

void FitBody(double m2, double over, uint32_t attempts, Shape* shape) {
  constexpr double kMost = 3;
  const auto fitted = [](double sigma, double p) {
    return (1 - p) * ClampedVariance(sigma, kFar) + p * (1 - p) * kFar * kFar;
  };
  const auto solve = [&](auto&& tail_of) {
    double low = 0, high = kMost;
    for (int i = 0; i < 60; ++i) {
      const double middle = (low + high) / 2;
      (fitted(middle, tail_of(middle)) < m2 ? low : high) = middle;
    }
    return low;
  };
  shape->sigma = solve([&](double sigma) { return TailFor(sigma, over); });
  shape->tail = TailFor(shape->sigma, over);
  const double error = std::sqrt(over * (1 - over) / attempts);
  if (shape->tail >= 2 * error && shape->over >= kLeastTail) return;
  shape->tail = 0;
  shape->sigma = solve([](double) { return 0.0; });
}

Shape ShapeOf(double m2, const std::vector<double>& logs) {
  Shape shape;
  std::vector<double> far;
  for (const double r : logs) {
    if (r > kFar) far.push_back(r);
  }
  if (logs.empty()) return shape;
  std::sort(far.begin(), far.end());
  shape.over = static_cast<uint32_t>(far.size());
  const auto n = static_cast<double>(logs.size());
  FitBody(m2, shape.over / n, static_cast<uint32_t>(logs.size()), &shape);
  if (shape.tail == 0) return shape;
  constexpr uint32_t kManyTails = 100;
  const double cap = far.size() < kManyTails ? far.back() : Quantile(far, 0.99);
  double sum = 0, below = 0;
  for (const double r : far) {
    sum += std::min(r, cap) - kFar;
    below += r <= cap;
  }
  shape.tail_cap = std::exp(cap);
  shape.tail_alpha = below / sum;
  shape.alpha_error = shape.tail_alpha / std::sqrt(below);
  return shape;
}

}  // namespace mr::sim
