// The attempts that can be compared, as factors: how many times the median of its stage an attempt took.
//
// Only stages of kLeastTasks successes are used. The median of n values has a standard error of 1.25 sigma / sqrt(n):
// 0.28 sigma at 20; and centring takes 1/n of the variance: 5 % at 20, which is corrected.
// Only stages with a median of kLeastMedian seconds are used. Below, starting a process and the resolution of the clock
// (1 ms in most records) count as much as the work.
// Stages of mixed work are not used: those in which more than kMostFar of the tasks take more than twice the median, or
// less than half. Neither a slow machine nor bad luck strikes so many; the tasks differ in their work.
#pragma once

#include <cstdint>
#include <vector>

#include "master/sim/traces/observation.h"

namespace mr::sim {

inline constexpr uint32_t kLeastTasks = 20;
inline constexpr double kLeastMedian = 1;
inline constexpr double kMostFar = 0.25;
// log 2. Factors above 2 are the tail. The *body* of a residual is its value clamped to [-kFar, kFar], so that no
// straggler decides a variance.
inline constexpr double kFar = 0.69314718055994530942;

inline constexpr uint32_t kUnnamed = ~0u;

struct Residual {
  uint32_t task = kUnnamed;    // the same number for the same task in another run of the workflow
  uint32_t worker = kUnnamed;  // numbers are equal for equal names
  double start = kStartUnknown;
  double r = 0;     // log(seconds / median of its stage)
  double body = 0;  // r, clamped; centred on the mean of its stage; without what the bytes explain
};

struct SampleStage {
  uint32_t first = 0, count = 0;  // range of Sample::attempts
  uint32_t job = 0, workflow = kUnnamed;
  uint32_t name = 0;  // equal for equal names
};

struct LeftOut {
  uint64_t failed = 0, killed = 0;  // censored: they would have run longer
  uint64_t killed_late = 0;         // these had already run for twice the median of their stage
  uint64_t untimed = 0;             // without a duration above 0
  uint64_t small = 0;               // successes in stages of fewer than kLeastTasks
  uint64_t mixed = 0;               // successes in stages of mixed work
  uint64_t brief = 0;               // successes in stages with a median below kLeastMedian
};

// The part of the body's variance that the logarithm of the input bytes explains, by least squares within each stage.
struct BytesPart {
  uint64_t attempts = 0;  // in stages with the bytes of each attempt
  uint64_t differ = 0;    // in those of them in which the bytes differ
  // Explained variance, adjusted for the fitted slope, per attempt of the whole sample: 1 - (1 - R^2)(n - 1)/(n - 2)
  // times the variance of each stage.
  double variance = 0;
  double error = 0;  // standard error if bytes explained nothing
};

struct Sample {
  std::vector<SampleStage> stages;
  std::vector<Residual> attempts;  // by stage
  LeftOut left_out;
  BytesPart bytes;
  uint32_t workers = 0;  // distinct names
  double m2 = 0;    // variance of the clamped residuals within stages, divisor n - 1, before the bytes are taken out
  double over = 0;  // share of attempts with a factor above 2
  uint32_t half_over = 0;  // least number of stages that have half of the factors above 2
  double within = 0;       // share of attempts with a factor from 1/2 to 2
};

// Stages of other kinds than kUsual are left out.
Sample SampleOf(const std::vector<ObservedStage>& stages);

// Returns the value below which a share q of the values lies, interpolated. Requires: sorted, not empty.
double Quantile(const std::vector<double>& sorted, double q);

}  // namespace mr::sim
