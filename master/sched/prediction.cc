#include "master/sched/prediction.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "common/base/check.h"

namespace mr::sched {

std::vector<double> Prediction::At(size_t i, double progress) const {
  MR_CHECK(known() && i < slots.size(), "nothing is predicted for so many slots");
  const double place = std::clamp(progress, 0.0, 1.0) * buckets;
  const auto b = std::min<size_t>(static_cast<size_t>(place), buckets == 0 ? 0 : buckets - 1);
  // The last bucket is not interpolated: only single tasks are left, and near 1 one of them may still take its whole
  // time.
  const bool last = b + 1 == buckets && place < buckets;
  const double part = last ? 0 : place - static_cast<double>(b);
  const float* low = &left[(i * (buckets + 1) + b) * quantiles];
  std::vector<double> out(quantiles);
  for (size_t q = 0; q < quantiles; ++q) out[q] = low[q] + part * (double{low[quantiles + q]} - low[q]);
  return out;
}

bool Prediction::Valid(size_t stages_of_job) const {
  constexpr uint64_t kMost = 1 << 22;  // numbers in the table; a guess: 64 times the largest that the predictor makes
  if (slots.empty() || slots.front() == 0 || buckets == 0 || quantiles == 0 || stages.size() != stages_of_job)
    return false;
  if (buckets > kMost || quantiles > kMost || slots.size() > kMost) return false;
  if (std::adjacent_find(slots.begin(), slots.end(), std::greater_equal<>()) != slots.end()) return false;
  const uint64_t row = (uint64_t{buckets} + 1) * quantiles;
  if (row > kMost || row * slots.size() > kMost || left.size() != row * slots.size()) return false;
  if (indicator < Indicator::kTotalWorkWithQueueing || indicator > Indicator::kMinStageInfinite) return false;
  constexpr double kLongest = 1e9;  // bound of seconds and of shares; about 30 years
  const auto bad = [](double v) { return !(v >= 0 && v <= kLongest); };
  if (bad(scale) || std::any_of(left.begin(), left.end(), bad)) return false;
  return std::none_of(stages.begin(), stages.end(), [&](const StageProfile& s) {
    return bad(s.run) || bad(s.ran) || bad(s.queue) || bad(s.longest) || bad(s.behind) || bad(s.begin) || bad(s.end) ||
           bad(s.begin_free) || bad(s.end_free);
  });
}

}  // namespace mr::sched
