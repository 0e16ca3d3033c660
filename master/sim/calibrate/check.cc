// Draws from a fit what the record has, and compares quantiles.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "common/base/rng.h"
#include "master/sim/calibrate/fit.h"

namespace mr::sim {

namespace {

constexpr double kTwoPi = 6.283185307179586;
constexpr double kAt[3] = {0.5, 0.9, 0.99};
// Enough for the 99th percentile of the slowest in a hundred stages.
constexpr uint64_t kDraws = 2'000'000;
constexpr uint64_t kMostRounds = 50;

// The logarithm of one component's factor, as the model draws it (TaskModel in engine/model.h).
double Draw(const Component& c, Rng& rng) {
  if (c.sigma == 0 && c.tail == 0) return 0;
  const double radius = std::sqrt(-2 * std::log(1 - rng.Uniform()));
  double log_factor = c.sigma * radius * std::cos(kTwoPi * rng.Uniform());
  if (rng.Uniform() < c.tail) log_factor += std::log(std::min(rng.Pareto(2, c.tail_alpha), c.tail_cap));
  return log_factor;
}

// Quantiles of exp(logs). One with less than a value beyond it is left out.
Quantiles QuantilesOf(std::vector<double>* logs, size_t recorded) {
  Quantiles q;
  std::sort(logs->begin(), logs->end());
  for (size_t i = 0; i < 3; ++i) {
    if (static_cast<double>(recorded) * (1 - kAt[i]) >= 1) q.at[i] = std::exp(Quantile(*logs, kAt[i]));
  }
  return q;
}

// A machine's factor lasts for exponential times.
class Machines {
 public:
  Machines(const Component& component, double lasts) : component_(component), lasts_(lasts) {}
  // Requires: calls for one worker in the order of `at`.
  double At(uint32_t worker, double at, Rng& rng) {
    auto& [since, log_factor] = state_.try_emplace(worker, -1.0, 0.0).first->second;
    const bool fresh = since < 0 || (lasts_ > 0 && at >= 0 && rng.Uniform() >= std::exp(-(at - since) / lasts_));
    if (fresh) log_factor = Draw(component_, rng);
    since = std::max(at, 0.0);
    return log_factor;
  }

 private:
  const Component& component_;
  const double lasts_;  // 0: for ever
  std::map<uint32_t, std::pair<double, double>> state_;
};

}  // namespace

void CheckFit(const Sample& sample, Fit* fit) {
  const size_t n = sample.attempts.size();
  std::vector<double> all, slowest, drawn, drawn_slowest;
  for (const SampleStage& stage : sample.stages) {
    double most = 0;
    for (uint32_t i = stage.first; i < stage.first + stage.count; ++i) {
      all.push_back(sample.attempts[i].r);
      most = std::max(most, sample.attempts[i].r);
    }
    slowest.push_back(most);
  }
  std::vector<uint32_t> by_start(n);
  for (uint32_t i = 0; i < n; ++i) by_start[i] = i;
  std::stable_sort(by_start.begin(), by_start.end(),
                   [&](uint32_t x, uint32_t y) { return sample.attempts[x].start < sample.attempts[y].start; });
  const bool decays = fit->decay.fitted && fit->decay.bounded;
  const uint64_t rounds = std::clamp<uint64_t>(kDraws / n, 1, kMostRounds);
  Rng rng = Rng::Stream(1, "calibrate");
  std::vector<double> logs(n), of_stage;
  for (uint64_t round = 0; round < rounds; ++round) {
    Machines machines(fit->machine, decays ? fit->decay.lasts : 0);
    std::map<uint32_t, double> skew;
    for (const uint32_t i : by_start) {
      const Residual& a = sample.attempts[i];
      logs[i] = Draw(fit->luck, rng);
      if (a.worker != kUnnamed && fit->machine.found == Found::kFitted) logs[i] += machines.At(a.worker, a.start, rng);
      if (a.task == kUnnamed || fit->skew.found != Found::kFitted) continue;
      const auto [it, added] = skew.try_emplace(a.task, 0.0);
      if (added) it->second = Draw(fit->skew, rng);
      logs[i] += it->second;
    }
    for (const SampleStage& stage : sample.stages) {
      of_stage.assign(logs.begin() + stage.first, logs.begin() + stage.first + stage.count);
      std::sort(of_stage.begin(), of_stage.end());
      const double median = Quantile(of_stage, 0.5);
      drawn_slowest.push_back(of_stage.back() - median);
      for (const double log_factor : of_stage) drawn.push_back(log_factor - median);
    }
  }
  fit->factor = QuantilesOf(&all, n);
  fit->fitted_factor = QuantilesOf(&drawn, n);
  fit->slowest = QuantilesOf(&slowest, sample.stages.size());
  fit->fitted_slowest = QuantilesOf(&drawn_slowest, sample.stages.size());
}

}  // namespace mr::sim
