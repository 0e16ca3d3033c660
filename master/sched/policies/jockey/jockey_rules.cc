#include "master/sched/policies/jockey/jockey_rules.h"

#include <algorithm>
#include <cmath>

#include "common/base/check.h"

namespace mr::sched {

namespace {
// Smallest gain of utility that is worth more slots; utilities are of the order of 1.
constexpr double kEqual = 1e-6;
}  // namespace

void SetPathsBehind(std::vector<StageProfile>* stages, const std::vector<std::vector<uint32_t>>& readers) {
  for (size_t s = stages->size(); s-- > 0;) {
    double behind = 0;
    for (const uint32_t r : readers[s]) behind = std::max(behind, (*stages)[r].longest + (*stages)[r].behind);
    (*stages)[s].behind = behind;
  }
}

Amdahl AmdahlOf(const std::vector<StageProfile>& stages, const std::vector<double>& finished) {
  Amdahl out;
  double work = 0;
  for (size_t s = 0; s < stages.size(); ++s) {
    if (finished[s] >= 1) continue;
    out.serial = std::max(out.serial, (1 - finished[s]) * stages[s].longest + stages[s].behind);
    work += (1 - finished[s]) * stages[s].run;
  }
  out.parallel = std::max(0.0, work - out.serial);
  return out;
}

double ProgressOf(Indicator indicator, const std::vector<StageProfile>& stages, const std::vector<double>& finished) {
  if (std::all_of(finished.begin(), finished.end(), [](double f) { return f >= 1; })) return 1;
  if (indicator == Indicator::kCriticalPath) {
    const double all = AmdahlOf(stages, std::vector<double>(stages.size(), 0)).serial;
    return all > 0 ? 1 - AmdahlOf(stages, finished).serial / all : 0;
  }
  const bool min_stage = indicator == Indicator::kMinStage || indicator == Indicator::kMinStageInfinite;
  double done = 0, all = 0, least = 1;
  for (size_t s = 0; s < stages.size(); ++s) {
    const StageProfile& stage = stages[s];
    if (min_stage) {
      const bool inf = indicator == Indicator::kMinStageInfinite;
      const double begin = inf ? stage.begin_free : stage.begin, end = inf ? stage.end_free : stage.end;
      if (finished[s] < 1) least = std::min(least, begin + finished[s] * (end - begin));
      continue;
    }
    const double weight = indicator == Indicator::kVertexFraction ? stage.tasks
                          : indicator == Indicator::kTotalWork    ? stage.run
                                                                  : stage.run + stage.queue;
    done += finished[s] * weight;
    all += weight;
  }
  if (min_stage) return least;
  return all > 0 ? done / all : 0;
}

Utility Utility::OfDeadline(double deadline, double unit) {
  return Utility({{0, 1}, {deadline, 1}, {deadline + 10 * unit, -1}, {deadline + 1000 * unit, -1000}});
}

double Utility::At(double seconds) const {
  MR_CHECK(!points_.empty(), "a utility has at least one point");
  if (seconds <= points_.front().first || points_.size() == 1) return points_.front().second;
  size_t i = 1;
  while (i + 1 < points_.size() && seconds > points_[i].first) ++i;
  const auto [x0, y0] = points_[i - 1];
  const auto [x1, y1] = points_[i];
  return x1 > x0 ? y0 + (y1 - y0) * (seconds - x0) / (x1 - x0) : y1;
}

Utility Utility::ShiftedLeft(double seconds) const {
  Utility out = *this;
  for (auto& point : out.points_) point.first -= seconds;
  return out;
}

double Today(const std::vector<StageProfile>& stages, const std::vector<Computed>& done) {
  MR_CHECK(done.size() == stages.size(), "what each stage has computed");
  double all = 0, then = 0, now = 0;
  for (size_t s = 0; s < stages.size(); ++s) {
    const StageProfile& stage = stages[s];
    all += stage.ran;
    if (stage.tasks == 0 || done[s].tasks < kShown * stage.tasks) continue;
    then += stage.ran / stage.tasks * done[s].tasks;
    now += done[s].seconds;
  }
  return all > 0 ? (kAsItWas * all + now) / (kAsItWas * all + then) : 1;
}

void Correct(const std::vector<StageProfile>& stages, const std::vector<double>& finished,
             const std::vector<uint32_t>& allocations, double today, std::vector<std::vector<double>>* left) {
  MR_CHECK(finished.size() == stages.size() && left->size() == allocations.size(), "as many of both");
  double work = 0;
  for (size_t s = 0; s < stages.size(); ++s) work += (1 - finished[s]) * stages[s].run;
  for (size_t i = 0; i < allocations.size(); ++i) {
    for (double& seconds : (*left)[i]) seconds = today * std::max(seconds, work / allocations[i]);
  }
}

uint32_t SmallestOfBest(const std::vector<uint32_t>& allocations, const std::vector<std::vector<double>>& left,
                        double elapsed, double slack, const Utility& utility) {
  MR_CHECK(!allocations.empty() && left.size() == allocations.size(), "times for each allocation");
  uint32_t best = allocations.front();
  double most = -INFINITY;
  for (size_t i = 0; i < allocations.size(); ++i) {
    double sum = 0;
    for (const double c : left[i]) sum += utility.At(elapsed + slack * c);
    const double expected = sum / static_cast<double>(left[i].size());
    if (expected <= most + kEqual) continue;
    most = expected;
    best = allocations[i];
  }
  return best;
}

}  // namespace mr::sched
