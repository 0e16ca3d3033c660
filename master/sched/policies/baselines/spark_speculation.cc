#include "master/sched/policies/baselines/spark_speculation.h"

#include <algorithm>
#include <cmath>

#include "master/sched/policies/baselines/reasons.h"
#include "master/sched/policies/common/speculation.h"

namespace mr::sched {

namespace {

struct SparkNumbers {
  double quantile = 0, multiplier = 0, efficiency = 0, long_run = 0;
};

class SparkSpeculation final : public Speculation {
 public:
  SparkSpeculation(Options options, SparkNumbers numbers) : Speculation(options), n_(numbers) {}
  std::string_view name() const override { return "spark_speculation"; }

 private:
  // Returns whether the bytes per second are below `efficiency` times the mean of finished attempts, or not known.
  bool Inefficient(const StageStatistics& s, const Attempt& a, double age) const {
    if (n_.efficiency == 0 || s.measured_bytes == 0 || a.samples.empty()) return true;
    const Sample& last = a.samples.back();
    if (last.total_bytes == 0) return true;
    const double mean = static_cast<double>(s.measured_bytes) / static_cast<double>(s.measured_ns);
    return static_cast<double>(last.taken_bytes) / age < n_.efficiency * mean;
  }

  std::optional<Choice> Pick(const View& view, StageId id, const Worker* worker) const override {
    const Stage& stage = *view.state().FindStage(id);
    const StageStatistics& s = stage.statistics;
    const double enough = std::max(1.0, std::floor(n_.quantile * static_cast<double>(stage.tasks.size())));
    if (s.durations.empty() || stage.committed < enough) return std::nullopt;
    const double median = Percentile(s.durations, 0.5);
    const double threshold = std::max(n_.multiplier * median, static_cast<double>(options().min_age.ns));
    std::optional<Choice> choice;
    s.by_start.Walk(kCandidatesSeen, [&](const auto& entry) {
      const double age = static_cast<double>((view.now() - Instant{entry.first}).ns);
      if (age <= threshold) return false;
      const AttemptId attempt{{id.job, id.stage, entry.second.first}, entry.second.second};
      const bool slow = age > n_.long_run * threshold || Inefficient(s, *view.state().FindAttempt(attempt), age);
      if (!slow || !Eligible(view, id, entry.second, worker)) return true;
      choice = Choice{entry.second, {BaselineReason::kBeyondMedian, "", {age * 1e-9, median * 1e-9}}};
      return false;
    });
    return choice;
  }

  SparkNumbers n_;
};

}  // namespace

Result<std::unique_ptr<Policy>> MakeSparkSpeculation(PolicyParams* params) {
  MR_ASSIGN_OR_RETURN(const auto options, Speculation::ReadOptions(params, Millis(100)));
  SparkNumbers n;
  MR_ASSIGN_OR_RETURN(n.quantile, params->Number("quantile", 0.9, 0, 1));
  MR_ASSIGN_OR_RETURN(n.multiplier, params->Number("multiplier", 3, 1, 1000));
  MR_ASSIGN_OR_RETURN(n.efficiency, params->Number("efficiency", 0.75, 0, 1));
  MR_ASSIGN_OR_RETURN(n.long_run, params->Number("long_run", 2, 1, 1000));
  return std::unique_ptr<Policy>(std::make_unique<SparkSpeculation>(options, n));
}

}  // namespace mr::sched
