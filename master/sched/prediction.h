// Predicts how long a job still takes with a number of slots, from its earlier runs: C(p, a) of Jockey (EuroSys'12,
// 4.1). It is made outside the scheduler (sim/engine/predict.h) and arrives as an event. Seconds are floats: for an
// hour their rounding is below 1 ms, far below the error of a prediction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "master/sched/policies/jockey/jockey_rules.h"

namespace mr::sched {

// Prediction table. Times never rise with progress or with slots.
struct Prediction {
  std::vector<uint32_t> slots;  // ascending, each > 0
  uint32_t buckets = 0;         // of progress: bucket b stands for p = b / buckets; there are buckets + 1
  uint32_t quantiles = 0;       // equally likely, ascending
  std::vector<float> left;      // seconds: [slot][bucket][quantile]
  Indicator indicator = Indicator::kTotalWorkWithQueueing;  // definition of progress
  std::vector<StageProfile> stages;                         // of the job, in its graph's order; used by the indicator
  uint32_t runs = 0;  // earlier runs that it is based on; 0: none, only a bound from the job's input
  double scale = 1;   // this run's input size over that of those runs

  bool known() const { return !slots.empty(); }
  // Returns the quantiles at this progress with the i-th of `slots`, interpolated between buckets. The last bucket
  // returns those of its beginning. Requires: known(), i < slots.size().
  std::vector<double> At(size_t i, double progress) const;
  // Returns true if sizes fit, slots ascend, times are finite and not negative, and there are as many stages. Needed
  // since a prediction comes over a wire.
  bool Valid(size_t stages_of_job) const;
  template <class V>
  static void Fields(V&& v) {
    using T = Prediction;
    v(&T::slots, &T::buckets, &T::quantiles, &T::left, &T::indicator, &T::stages, &T::runs, &T::scale);
  }
};

}  // namespace mr::sched
