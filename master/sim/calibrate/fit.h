// The parameters of the model's factor = machine x skew x luck for one group of recorded attempts, and what each is
// worth. All numbers come from the attempts; where they are too few the fit says so in words.
#pragma once

#include <string>
#include <vector>

#include "master/sim/calibrate/pairs.h"
#include "master/sim/calibrate/shape.h"

namespace mr::sim {

inline constexpr uint32_t kLeastAttempts = 100;
// A variance between K machines has a relative standard error of sqrt(2 / (K - 1)): 47 % at ten.
inline constexpr uint32_t kLeastMachines = 10;
inline constexpr uint32_t kLeastStarts = 10;

enum class Found : uint8_t {
  kUnknown,  // the record cannot separate it, or has too few cases; `why` says which
  kNone,     // looked for, and less than two standard errors from none
  kFitted,
};

struct Component {
  Found found = Found::kUnknown;
  std::string why;      // how it was found, or why not
  double variance = 0;  // of log factor, without the tail
  double share = 0;     // of the variance of the body
  double sigma = 0, tail = 0, tail_alpha = 0, tail_cap = 0;
};

// Quantiles 0.5, 0.9 and 0.99; below 0: too few values.
struct Quantiles {
  double at[3] = {-1, -1, -1};
};

struct Startup {
  Found found = Found::kUnknown;
  std::string why;
  double mean = 0, sigma = -1;  // seconds; sigma below 0: not separated from the spread of the work
};

struct Fit {
  std::string name;
  bool fitted = false;
  std::string why_not;  // unless fitted
  uint64_t attempts = 0, stages = 0;
  uint32_t workers = 0;
  LeftOut left_out;
  Shape whole;             // of the factor, its parts not separated
  uint32_t half_over = 0;  // least number of stages that have half of the factors above 2
  Component machine, skew, luck;
  bool skew_by_bytes = false;
  MachinePairs pairs;
  PairMean task_pairs;
  Decay decay;
  Startup startup;
  // Quantiles of the factor, and of the slowest attempt of each stage over the median of the stage.
  Quantiles factor, fitted_factor, slowest, fitted_slowest;
};

Fit FitOf(const std::string& name, const std::vector<ObservedStage>& observed);

// Draws factors for the attempts of the sample from the fit, each stage with its machines and tasks, and sets the four
// sets of quantiles. Deterministic.
void CheckFit(const Sample& sample, Fit* fit);

}  // namespace mr::sim
