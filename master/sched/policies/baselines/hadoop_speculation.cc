#include "master/sched/policies/baselines/hadoop_speculation.h"

#include <algorithm>

#include "master/sched/policies/baselines/reasons.h"
#include "master/sched/policies/common/speculation.h"

namespace mr::sched {

namespace {

class HadoopSpeculation final : public Speculation {
 public:
  HadoopSpeculation(Options options, double gap) : Speculation(options), gap_(gap) {}
  std::string_view name() const override { return "hadoop_speculation"; }
  void AddNeeds(Needs* needs) const override {
    Speculation::AddNeeds(needs);
    needs->statistics.scores = true;
  }

 private:
  bool ChoosesAlike() const override { return false; }  // near its input first

  std::optional<Choice> Pick(const View& view, StageId id, const Worker* worker) const override {
    const Stage& stage = *view.state().FindStage(id);
    const StageStatistics& s = stage.statistics;
    const size_t attempts = s.running + s.durations.size();
    const double average = static_cast<double>(s.scores) / static_cast<double>(attempts);
    const double limit = average - gap_ * static_cast<double>(kWholeScore);
    std::optional<AttemptKey> slow;
    bool slow_local = false;
    int64_t score = 0;
    s.by_score.Walk(kCandidatesSeen, [&](const auto& entry) {
      if (static_cast<double>(entry.first) >= limit) return false;
      if (!Eligible(view, id, entry.second, worker)) return true;
      const auto& preferred = stage.tasks[entry.second.first].plan.preferred;
      const bool local =
          worker == nullptr || std::find(preferred.begin(), preferred.end(), worker->id) != preferred.end();
      if (!slow || (local && !slow_local) || (local == slow_local && entry.second < *slow)) {
        slow = entry.second;
        slow_local = local;
        score = entry.first;
      }
      return true;
    });
    if (!slow) return std::nullopt;
    const double percent = 100 / static_cast<double>(kWholeScore);
    return Choice{*slow,
                  {BaselineReason::kBehindAverage, "", {static_cast<double>(score) * percent, average * percent}}};
  }

  double gap_;
};

}  // namespace

Result<std::unique_ptr<Policy>> MakeHadoopSpeculation(PolicyParams* params) {
  MR_ASSIGN_OR_RETURN(const auto options, Speculation::ReadOptions(params, Seconds(60)));
  MR_ASSIGN_OR_RETURN(const double gap, params->Number("gap", 0.2, 0, 1));
  return std::unique_ptr<Policy>(std::make_unique<HadoopSpeculation>(options, gap));
}

}  // namespace mr::sched
