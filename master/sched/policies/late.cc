#include "master/sched/policies/late.h"

#include <algorithm>
#include <limits>

#include "master/sched/speculation.h"

namespace mr::sched {

namespace {

constexpr size_t kOldestSeen = 64;
// An attempt that moves is reported at least so often (worker/daemon/progress.h).
constexpr Duration kReportPeriod = Seconds(1);

class Late final : public Speculation {
 public:
  Late(Options options, double cap, double slow_task, double slow_node)
      : Speculation(options), cap_(cap), slow_task_(slow_task), slow_node_(slow_node) {}
  std::string_view name() const override { return "late"; }

 private:
  struct Estimate {
    double rate = 0, left = 0;  // per second; seconds
  };

  bool BelowCap(const State& state, SlotKind kind) const override {
    const auto below = [this](uint32_t copies, uint32_t slots) {
      return copies < std::max(1.0, cap_ * static_cast<double>(slots));
    };
    return below(state.copies(kind), state.slots().by_kind[KindIndex(kind)]) &&
           below(state.copies(SlotKind::kMap) + state.copies(SlotKind::kReduce), state.slots().total);
  }

  bool SlowNode(const JobStatistics& job, WorkerId worker) const {
    const auto it = job.progress.find(worker);
    return it != job.progress.end() && static_cast<double>(it->second) < Percentile(job.by_progress, slow_node_);
  }

  static Estimate EstimateOf(const View& view, const Attempt& a) {
    const double age = std::max(1e-9, Age(view, a).seconds());
    const bool measured = !a.samples.empty() && (a.samples.back().total_bytes > 0 || a.samples.back().phase > 0);
    if (!measured) return {1 / age, age};
    const double score = static_cast<double>(ScoreOf(a)) / static_cast<double>(kWholeScore);
    if (score == 0) return {0, std::numeric_limits<double>::infinity()};
    const Duration silent = view.now() - a.samples.back().at;
    const double running = age - std::min(silent, kReportPeriod).seconds();
    const double rate = score / std::max(1e-9, running);
    return {rate, (1 - score) / rate};
  }

  std::optional<Choice> Pick(const View& view, StageId id, const Worker* worker) const override {
    const Job& job = *view.state().FindJob(id.job);
    const Stage& stage = job.stages[id.stage];
    const StageStatistics& s = stage.statistics;
    if (worker != nullptr && SlowNode(job.statistics, worker->id)) return std::nullopt;
    const double threshold = Percentile(s.rates, slow_task_);
    std::optional<Choice> best;
    double longest = 0;
    const auto consider = [&](AttemptKey key) {
      const Attempt& a = *view.state().FindAttempt({{id.job, id.stage, key.first}, key.second});
      const Estimate e = EstimateOf(view, a);
      if (e.rate >= threshold || (best && e.left <= longest)) return;
      if (!Eligible(view, id, key, worker)) return;
      longest = e.left;
      best = Choice{key, {ReasonCode::kLongestToEnd, "", {e.left, e.rate * 100, threshold * 100}}};
    };
    s.by_rate.Walk(kCandidatesSeen, [&](const auto& entry) {
      if (entry.first >= threshold) return false;
      consider(entry.second);
      return true;
    });
    s.by_start.Walk(kOldestSeen, [&](const auto& entry) {
      if (view.now() - Instant{entry.first} < options().min_age) return false;
      consider(entry.second);
      return true;
    });
    return best;
  }

  double cap_, slow_task_, slow_node_;
};

}  // namespace

Result<std::unique_ptr<Policy>> MakeLate(PolicyParams* params) {
  MR_ASSIGN_OR_RETURN(const auto options, Speculation::ReadOptions(params, Seconds(60)));
  MR_ASSIGN_OR_RETURN(const double cap, params->Number("cap", 0.1, 0, 1));
  MR_ASSIGN_OR_RETURN(const double slow_task, params->Number("slow_task", 0.25, 0, 1));
  MR_ASSIGN_OR_RETURN(const double slow_node, params->Number("slow_node", 0.25, 0, 1));
  return std::unique_ptr<Policy>(std::make_unique<Late>(options, cap, slow_task, slow_node));
}

}  // namespace mr::sched
