// How long a job still takes with so many slots, as its earlier runs tell: C(p, a) of Jockey (papers.md 4.1), made
// outside of the scheduler (sim/predict.h) and given to it as an event. Seconds as float: a tenth of a percent of an
// hour is 4 s, of a float 10 ns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "master/sched/policies/jockey_rules.h"

namespace mr::sched {

// Never rises with progress or with slots.
struct Prediction {
  std::vector<uint32_t> slots;  // ascending, each > 0
  uint32_t buckets = 0;         // of progress: bucket b stands for p = b / buckets; there are buckets + 1
  uint32_t quantiles = 0;       // equally likely, ascending
  std::vector<float> left;      // seconds: [slot][bucket][quantile]
  Indicator indicator = Indicator::kTotalWorkWithQueueing;  // what progress is
  std::vector<StageProfile> stages;                         // of the job, in its graph's order; for the indicator
  uint32_t runs = 0;  // earlier runs that it was learned from; 0: none, a bound from the job's input
  double scale = 1;   // this run's input over that of those

  bool known() const { return !slots.empty(); }
  // The quantiles at this progress with the i-th of `slots`, between buckets; in the last one, that of its beginning.
  // REQUIRES known(), i < slots.size().
  std::vector<double> At(size_t i, double progress) const;
  // Sizes that fit each other, slots that rise, no time below 0 or not finite, as many stages: it came over a wire.
  bool Valid(size_t stages_of_job) const;
  template <class V>
  static void Fields(V&& v) {
    using T = Prediction;
    v(&T::slots, &T::buckets, &T::quantiles, &T::left, &T::indicator, &T::stages, &T::runs, &T::scale);
  }
};

}  // namespace mr::sched
