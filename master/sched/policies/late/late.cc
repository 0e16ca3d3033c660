#include "master/sched/policies/late/late.h"

#include <algorithm>
#include <array>
#include <limits>

#include "master/sched/index/estimate.h"
#include "master/sched/policies/common/speculation.h"
#include "master/sched/policies/late/reasons.h"

namespace mr::sched {

namespace {

constexpr size_t kOldestSeen = 64;
constexpr size_t kJobsTold = 8;  // most jobs for which `why` reports a worker as slow
// A moving attempt is reported within a period, or once it has done 5 % (worker/daemon/progress.h). A report is overdue
// after twice as long, since one may be under way.
constexpr Duration kOverdue = kReportPeriod * 2;
constexpr double kFirstReport = .05;
constexpr uint8_t kCopying = 1;   // phase of a reduce
constexpr double kLongest = 1e9;  // seconds; far below what a Duration holds

class Late final : public Speculation {
 public:
  Late(Options options, double cap, double slow_task, double slow_node, bool by_phases, double gain, double slack)
      : Speculation(options),
        cap_(cap),
        slow_task_(slow_task),
        slow_node_(slow_node),
        by_phases_(by_phases),
        gain_(gain),
        slack_(slack) {}
  std::string_view name() const override { return "late"; }
  void AddNeeds(Needs* needs) const override {
    needs->statistics |= StatisticsWanted{.any = true, .speculation = true, .rates = true, .workers = true};
  }

 private:
  struct Estimate {
    double rate = 0, left = 0;  // per second; seconds
  };

  bool BelowCap(const State& state, SlotKind kind) const override {
    const auto below = [this](uint32_t running, uint32_t slots) {
      return running < std::max(1.0, cap_ * static_cast<double>(slots));
    };
    return below(state.speculative(kind), state.slots().by_kind[KindIndex(kind)]) &&
           below(state.speculative(SlotKind::kMap) + state.speculative(SlotKind::kReduce), state.slots().total);
  }

  bool SlowNode(const JobStatistics& job, WorkerId worker) const {
    const auto it = job.progress.find(worker);
    return it != job.progress.end() && static_cast<double>(it->second.scores) < Percentile(job.by_progress, slow_node_);
  }

  bool Shuns(const Job& job, WorkerId worker) const override { return SlowNode(job.statistics, worker); }

  // Returns nullopt if nothing is known of the attempt yet.
  std::optional<Estimate> EstimateOf(const View& view, const StageStatistics& s, const Task& task,
                                     const Attempt& a) const {
    // Once it has taken its whole input, its score does not show how much is left.
    if (ScoreOf(a) == kWholeScore && !s.durations.empty()) return EstimateByAge(view, a);
    if (!Measured(task, a)) return EstimateByAge(view, a);
    if (ScoreOf(a) == 0 && Age(view, a) < OverdueAt(s, task, a)) return std::nullopt;
    Estimate e = PlainEstimate(view, a);
    if (!by_phases_ || a.samples.empty() || a.samples.back().phase == 0 || a.samples.back().phase > 3) return e;
    const size_t phase = a.samples.back().phase - 1;
    const Instant began = phase == 0 ? a.started_at : phase == 1 ? a.sort_at : a.reduce_at;
    const Duration silent = UsualSilence(view, a);
    std::array<double, 3> usual{};
    for (size_t i = 0; i < usual.size(); ++i) {
      if (s.phase_n[i] > 0) usual[i] = static_cast<double>(s.phase_ns[i]) / 1e9 / s.phase_n[i];
    }
    const auto left = LeftByPhases({usual.begin(), usual.end()}, phase, PhaseShare(a.samples.back()),
                                   (view.now() - began - silent).seconds());
    if (left) e.left = *left;
    return e;
  }

  static Estimate EstimateByAge(const View& view, const Attempt& a) {
    const double age = std::max(1e-9, Age(view, a).seconds());
    return {1 / age, age};
  }

  // Returns whether its score says how much it has done.
  static bool Measured(const Task& task, const Attempt& a) {
    return InputBytes(task, a) > 0 || (!a.samples.empty() && a.samples.back().phase > 0);
  }

  // Returns the age from which an attempt without a report counts as slow. Other attempts show how long a first report
  // takes with as much input.
  static Duration OverdueAt(const StageStatistics& s, const Task& task, const Attempt& a) {
    if (s.rates.empty()) return kOverdue;
    const double bytes = static_cast<double>(InputBytes(task, a)), read = static_cast<double>(s.measured_bytes);
    const double input = read > 0 ? std::max(1.0, bytes * s.measured / read) : 1;
    const double seconds = 2 * kFirstReport * input / Percentile(s.rates, .5);
    return std::max(kOverdue, FromSeconds(std::min(seconds, kLongest)));
  }

  // Returns the part of its silence that is usual: no longer than a report takes, or than those of its phase were
  // apart. An operator that takes large batches moves rarely. A reduce that copies may have waited for its inputs.
  static Duration UsualSilence(const View& view, const Attempt& a) {
    const Sample& last = a.samples.back();
    Duration usual = kReportPeriod;
    for (size_t i = a.samples.size() - 1; last.phase != kCopying && i > 0 && a.samples[i - 1].phase == last.phase;
         --i) {
      usual = std::max(usual, a.samples[i].at - a.samples[i - 1].at);
    }
    return std::min(usual, view.now() - last.at);
  }

  static Estimate PlainEstimate(const View& view, const Attempt& a) {
    const int64_t score = ScoreOf(a);
    if (score == 0) {
      // It has done less than is reported at once.
      const double rate = kFirstReport / std::max(1e-9, Age(view, a).seconds());
      return {rate, (1 - kFirstReport) / rate};
    }
    // The formula of the stage's statistics, to the last bit: by rounding, an attempt without others would be below
    // their percentile.
    const Duration running = Age(view, a) - UsualSilence(view, a);
    const double rate = static_cast<double>(score) / static_cast<double>(std::max<int64_t>(1, running.ns));
    return {rate, static_cast<double>(kWholeScore - score) / static_cast<double>(kWholeScore) / rate};
  }

  // Returns the seconds that a new attempt would take: its input at the pace of finished ones, else the median time.
  // The wait for inputs before this attempt could run is taken off. Infinite if nothing is known.
  static double SecondsAnew(const View& view, StageId id, const StageStatistics& s, const Task& task,
                            const Attempt& a) {
    const double before = SecondsBeforeInputs(view, id, a);
    const auto bytes = static_cast<double>(InputBytes(task, a));
    if (bytes > 0 && s.measured_bytes > 0) {
      const double each = bytes / static_cast<double>(s.measured_bytes) / 1e9;
      return std::max(static_cast<double>(s.measured_work) * each, static_cast<double>(s.measured_ns) * each - before);
    }
    return s.rates.empty() ? std::numeric_limits<double>::infinity()
                           : std::max(0.0, 1 / Percentile(s.rates, 0.5) - before);
  }

  // Returns the rate from which an attempt is not slow.
  double Threshold(const StageStatistics& s) const {
    const double percentile = Percentile(s.rates, slow_task_);
    return slack_ > 0 ? std::min(percentile, Percentile(s.rates, .5) / slack_) : percentile;
  }

  std::optional<Reason> Keeps(const View& view, const AttemptId& id) const override {
    const StageStatistics& s = view.state().FindStage(id.task.stage_id())->statistics;
    const Task& task = *view.state().FindTask(id.task);
    const Attempt& a = *view.state().FindAttempt(id);
    const std::optional<Estimate> estimate = EstimateOf(view, s, task, a);
    if (!estimate)
      return Reason{LateReason::kNotReported, "", {Age(view, a).seconds(), OverdueAt(s, task, a).seconds()}};
    const Estimate e = *estimate;
    const double threshold = Threshold(s), anew = SecondsAnew(view, id.task.stage_id(), s, task, a);
    if (e.rate >= threshold) return Reason{LateReason::kNotSlow, "", {e.rate * 100, threshold * 100}};
    if (gain_ > 0 && e.left <= gain_ * anew) return Reason{LateReason::kNoGain, "", {e.left, anew}};
    const double slow = options().network.SlowReads(view, task);
    if (slow > 0 && e.left <= kGainElsewhere * slow * anew) return options().network.WhyNotRead(view, task);
    const SlotKind kind = view.state().Spec(id.task.stage_id()).slot_kind;
    if (!BelowCap(view.state(), kind))
      return Reason{LateReason::kAtCap, "", {static_cast<double>(view.state().speculative(kind))}};
    return Reason{LateReason::kSlowButNotYet, "", {e.left, e.rate * 100, threshold * 100}};
  }

  std::vector<Reason> WhyShuns(const View& view, WorkerId worker) const override {
    std::vector<Reason> reasons;
    JobId last;
    for (const SlotKind kind : {SlotKind::kMap, SlotKind::kReduce}) {
      for (const StageKey& key : view.speculable(kind)) {
        if (key.stage.job == last || reasons.size() == kJobsTold) continue;
        last = key.stage.job;
        const JobStatistics& job = view.state().FindJob(last)->statistics;
        if (!SlowNode(job, worker)) continue;
        const double whole = static_cast<double>(kWholeScore);
        reasons.push_back({LateReason::kSlowNode,
                           "",
                           {static_cast<double>(last.epoch), static_cast<double>(last.seq),
                            static_cast<double>(job.progress.at(worker).scores) / whole,
                            Percentile(job.by_progress, slow_node_) / whole}});
      }
    }
    return reasons;
  }

  std::optional<Choice> Pick(const View& view, StageId id, const Worker* worker) const override {
    const Stage& stage = *view.state().FindStage(id);
    const StageStatistics& s = stage.statistics;
    const double threshold = Threshold(s);
    std::optional<Choice> best;
    double longest = 0;
    const auto consider = [&](AttemptKey key) {
      const Attempt& a = AttemptOf(stage, key);
      const std::optional<Estimate> estimate = EstimateOf(view, s, stage.tasks[key.first], a);
      if (!estimate) return;
      const Estimate e = *estimate;
      if (e.rate >= threshold || (best && e.left <= longest)) return;
      const double gain = e.left / std::max(1e-9, SecondsAnew(view, id, s, stage.tasks[key.first], a));
      if (gain_ > 0 && gain <= gain_) return;
      if (!Eligible(view, id, key, worker)) return;
      longest = e.left;
      best = Choice{key, {LateReason::kLongestToEnd, "", {e.left, e.rate * 100, threshold * 100}}, gain};
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
  bool by_phases_;
  double gain_;   // 0: off
  double slack_;  // 0: off
};

}  // namespace

std::optional<double> LeftByPhases(const std::vector<double>& usual, size_t phase, double share, double seconds) {
  if (share == 0 && usual[phase] == 0) return std::nullopt;
  double left = share > 0 ? (1 - share) * seconds / share : std::max(0.0, usual[phase] - seconds);
  for (size_t i = phase + 1; i < usual.size(); ++i) {
    if (usual[i] == 0) return std::nullopt;
    left += usual[i];
  }
  return left;
}

Result<std::unique_ptr<Policy>> MakeLate(PolicyParams* params) {
  MR_ASSIGN_OR_RETURN(auto options, Speculation::ReadOptions(params, Seconds(60)));
  MR_ASSIGN_OR_RETURN(const bool network, params->Flag("network", false));
  options.network = NetworkBound(network);
  MR_ASSIGN_OR_RETURN(const double cap, params->Number("cap", 0.1, 0, 1));
  MR_ASSIGN_OR_RETURN(const double slow_task, params->Number("slow_task", 0.25, 0, 1));
  MR_ASSIGN_OR_RETURN(const double slow_node, params->Number("slow_node", 0.25, 0, 1));
  MR_ASSIGN_OR_RETURN(const double gain, params->Number("gain", 0, 0, 100));
  MR_ASSIGN_OR_RETURN(const double slack, params->Number("slack", 0, 0, 100));
  MR_ASSIGN_OR_RETURN(const size_t estimator, params->Choice("estimator", {"score", "phases"}));
  return std::unique_ptr<Policy>(
      std::make_unique<Late>(options, cap, slow_task, slow_node, estimator == 1, gain, slack));
}

}  // namespace mr::sched
