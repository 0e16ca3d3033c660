// The model's factor, lognormal(0, sigma) times min(Pareto(2, tail_alpha), tail_cap) with probability tail, fitted to
// what a sample says of factors: the variance of its clamped logarithms and the share above 2.
//
//   clamped variance  (1 - p) v(sigma) + p (1 - p) c^2         v(sigma) = E[min(|X|, c)^2], X normal(0, sigma)
//   share above 2     (1 - p) Q(c / sigma) + p                 c = log 2, Q: the upper tail of a normal variable
//   tail_cap          the quantile 0.99 of the factors above 2, if there are 100; else the largest factor
//   tail_alpha        d / sum(log(min(factor, tail_cap) / 2)) over the factors above 2, d of them below tail_cap: the
//                     estimator of Hill (Annals of Statistics 1975) for values that are censored at the cap
//
// The second line takes a tail factor, which is 2 or more, as always above 2 after the lognormal one. With tail_alpha
// near 1 and sigma below 0.3 this is off by less than a tenth of p.
#pragma once

#include <vector>

#include "master/sim/calibrate/sample.h"

namespace mr::sim {

inline constexpr uint32_t kLeastTail = 10;  // factors above 2 for a fit of the tail: tail_alpha +- 32 %

struct Shape {
  double sigma = 0;
  double tail = 0;    // 0: none that differs from 0 by two standard errors, or too few
  uint32_t over = 0;  // factors above 2
  double tail_alpha = 0, alpha_error = 0;
  double tail_cap = 0;
};

// m2: the clamped variance; over: share of factors above 2.
void FitBody(double m2, double over, uint32_t attempts, Shape* shape);

// Requires: `logs` are logarithms of factors.
Shape ShapeOf(double m2, const std::vector<double>& logs);

// P(X > c and Y > c) - P(X > c) P(Y > c) of two normal variables of this sigma and correlation.
double JointTail(double sigma, double correlation, double c);

// E[min(|X|, c)^2] of a normal variable.
double ClampedVariance(double sigma, double c);

// P(X > x) of the standard normal distribution.
double UpperTail(double x);

}  // namespace mr::sim
