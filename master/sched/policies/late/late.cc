#include "master/sched/policies/late/late.h"

#include <algorithm>

#include "master/sched/policies/common/speculation.h"
#include "master/sched/policies/late/reasons.h"
#include "master/sched/policies/late/speculation_worth.h"
#include "master/sched/policies/late/time_left.h"

namespace mr::sched {

namespace {

constexpr size_t kOldestSeen = 64;
constexpr size_t kJobsTold = 8;  // most jobs for which `why` reports a worker as slow
// Share of its input that a speculative attempt has read before it is judged. From the first reports on, their noise
// ended useful ones: jobs of a grid cell took 1 % longer than with .1.
constexpr double kJudgedFrom = .1;
// How many times the usual gain is asked of an attempt that copies, where the network is narrow or bounds the stage.
// Measured on jobs with heavy shuffles (tests/bench/shuffles_sim.cc, 100 loads): they take 1.05 of fair's time with 0,
// and 1.02 with 2, 4 or 8. With no speculative attempts of what copies they take 1.01, but 1.02 in place of .62 where
// one link is eight times as narrow as the others.
constexpr double kMoreWhileCopying = 4;

bool Copies(const Attempt& a) { return !a.samples.empty() && a.samples.back().phase == kShufflePhase; }

class Late final : public Speculation {
 public:
  Late(Options options, double cap, double slow_task, double slow_node, bool by_phases, double gain, double worth,
       double outpaced)
      : Speculation(options),
        cap_(cap),
        slow_task_(slow_task),
        slow_node_(slow_node),
        by_phases_(by_phases),
        gain_(gain),
        worth_(worth),
        outpaced_(outpaced) {}
  std::string_view name() const override { return "late"; }
  void AddNeeds(Needs* needs) const override {
    needs->statistics |= StatisticsWanted{.any = true, .speculation = true, .rates = true, .workers = true};
  }

 private:
  bool BelowCap(const State& state, SlotKind kind) const override {
    const auto below = [this](uint32_t running, uint32_t slots) {
      return running < std::max(1.0, cap_ * static_cast<double>(slots));
    };
    return below(state.speculative(kind), state.slots().by_kind[KindIndex(kind)]) &&
           below(state.speculative(SlotKind::kMap) + state.speculative(SlotKind::kReduce), state.slots().total);
  }

  bool SlowNode(const JobStatistics& job, WorkerId worker) const {
    const WorkerProgress* here = job.progress.Find(worker);
    return here != nullptr && static_cast<double>(here->scores) < Percentile(job.progress.scores(), slow_node_);
  }

  bool Shuns(const Job& job, WorkerId worker) const override { return SlowNode(job.statistics, worker); }

  // Returns whether finished attempts show what a new one takes. Where the network is narrow or bounds the stage they
  // do not: they shared its links.
  bool FinishedShowGain(const View& view, const Job& job, uint32_t stage) const {
    return gain_ > 0 && !options().network.WhyNotAny(view) && !options().network.WhyNotCopy(view, job, stage);
  }

  // How many times the time of a new attempt must be left; 0: no gain is asked. Where finished attempts show that time
  // only roughly, much more is asked of what copies, and nothing of others.
  struct GainAsked {
    double copying = 0, later = 0;
    double Of(const Attempt& a) const { return Copies(a) ? copying : later; }
    bool narrow() const { return copying != later; }
  };
  GainAsked AskedOf(const View& view, StageId id) const {
    if (!FinishedShowGain(view, *view.state().FindJob(id.job), id.stage)) return {gain_ * kMoreWhileCopying, 0};
    const double gain = gain_ * worth_.Asked(view);
    return {gain, gain};
  }

  void Learn(const View& view, const std::vector<JobId>& jobs, Plan* plan) const override {
    if (gain_ == 0) return;
    worth_.Learn(
        view, jobs, [&](const Job& job, uint32_t stage) { return FinishedShowGain(view, job, stage); }, plan);
  }

  // Returns whether an attempt has not reported for as long as a new one takes.
  bool LongSilent(const View& view, StageId id, const Task& task, const Attempt& a) const {
    const double silent = SilentFor(view, a).seconds();
    return silent >= kOverdue.seconds() &&
           silent >= SecondsAnew(view, id, view.state().FindStage(id)->statistics, task, a);
  }

  // Returns whether it has, though it has something to read: its score says nothing of what is left.
  bool MayHang(const View& view, StageId id, const Task& task, const Attempt& a) const {
    return ScoreOf(a) < kWholeScore && LongSilent(view, id, task, a);
  }

  // If this attempt hangs, its task takes at most twice as long.
  bool Again(const View& view, StageId id, const Task& task, const Attempt& a) const override {
    return outpaced_ > 0 && LongSilent(view, id, task, a);
  }

  std::optional<Reason> Keeps(const View& view, const AttemptId& id) const override {
    const StageStatistics& s = view.state().FindStage(id.task.stage_id())->statistics;
    const Task& task = *view.state().FindTask(id.task);
    const Attempt& a = *view.state().FindAttempt(id);
    const std::optional<LateEstimate> estimate = EstimateOf(view, s, task, a, by_phases_);
    if (!estimate)
      return Reason{LateReason::kNotReported, "", {Age(view, a).seconds(), OverdueAt(s, task, a).seconds()}};
    const LateEstimate e = *estimate;
    const double threshold = Percentile(s.rates, slow_task_), anew = SecondsAnew(view, id.task.stage_id(), s, task, a);
    if (e.rate >= threshold) return Reason{LateReason::kNotSlow, "", {e.rate * 100, threshold * 100}};
    const GainAsked asked = AskedOf(view, id.task.stage_id());
    if (const double gain = asked.Of(a);
        gain > 0 && e.left <= gain * anew && !MayHang(view, id.task.stage_id(), task, a))
      return asked.narrow() ? Reason{LateReason::kNoGainByCopying, "", {e.left, anew, gain}}
                            : Reason{LateReason::kNoGain, "", {e.left, anew, gain, gain_}};
    const double slow = options().network.SlowReads(view, task);
    if (slow > 0 && e.left <= kGainElsewhere * slow * anew) return options().network.WhyNotRead(view, task);
    const SlotKind kind = view.state().Spec(id.task.stage_id()).slot_kind;
    if (!BelowCap(view.state(), kind))
      return Reason{LateReason::kAtCap, "", {static_cast<double>(view.state().speculative(kind))}};
    return Reason{LateReason::kSlowButNotYet, "", {e.left, e.rate * 100, threshold * 100}};
  }

  void Review(const AttemptsChanged& changed, const View& view, Plan* plan) const override {
    if (outpaced_ <= 0) return;
    for (const AttemptId& id : changed.attempts) {
      const Attempt* a = view.state().FindAttempt(id);
      if (a == nullptr || a->cause != Cause::kSpeculative) continue;
      const Job& job = *view.state().FindJob(id.task.job);
      if (view.Serves(job) && job.running()) EndIfOutpaced(view, id, *view.state().FindTask(id.task), *a, plan);
    }
  }

  void EndIfOutpaced(const View& view, const AttemptId& id, const Task& task, const Attempt& own, Plan* plan) const {
    const std::optional<LeftBetween> left = LeftAtPace(view, own);
    if (!left || PhaseShare(own.samples.back()) < kJudgedFrom) return;
    for (const Attempt& a : task.attempts) {
      if (a.cause == Cause::kSpeculative || a.cause == Cause::kOpportunistic) continue;
      const std::optional<LeftBetween> other = LeftAtPace(view, a);
      if (!other || left->least <= outpaced_ * other->most) continue;
      plan->Kill(id, {LateReason::kOutpaced, "", {left->least, other->most}});
      return;
    }
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
                            static_cast<double>(job.progress.Find(worker)->scores) / whole,
                            Percentile(job.progress.scores(), slow_node_) / whole}});
      }
    }
    return reasons;
  }

  std::optional<Choice> Pick(const View& view, StageId id, const Worker* worker) const override {
    const Stage& stage = *view.state().FindStage(id);
    const StageStatistics& s = stage.statistics;
    const double threshold = Percentile(s.rates, slow_task_);
    const GainAsked asked = AskedOf(view, id);
    std::optional<Choice> best;
    double longest = 0;
    const auto consider = [&](AttemptKey key) {
      const Attempt& a = AttemptOf(stage, key);
      const std::optional<LateEstimate> estimate = EstimateOf(view, s, stage.tasks[key.first], a, by_phases_);
      if (!estimate) return;
      const LateEstimate e = *estimate;
      if (e.rate >= threshold || (best && e.left <= longest)) return;
      const double gain = e.left / std::max(1e-9, SecondsAnew(view, id, s, stage.tasks[key.first], a));
      if (asked.Of(a) > 0 && gain <= asked.Of(a) && !MayHang(view, id, stage.tasks[key.first], a)) return;
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
    if (outpaced_ <= 0) return best;
    s.by_report.Walk(kOldestSeen, [&](const auto& entry) {
      if (view.now() - Instant{entry.first} < kOverdue) return false;
      if (Again(view, id, stage.tasks[entry.second.first], AttemptOf(stage, entry.second))) consider(entry.second);
      return true;
    });
    return best;
  }

  double cap_, slow_task_, slow_node_;
  bool by_phases_;
  double gain_;  // 0: off
  SpeculationWorth worth_;
  double outpaced_;  // 0: off
};

}  // namespace

Result<std::unique_ptr<Policy>> MakeLate(PolicyParams* params) {
  MR_ASSIGN_OR_RETURN(auto options, Speculation::ReadOptions(params, Seconds(60)));
  MR_ASSIGN_OR_RETURN(const bool network, params->Flag("network", false));
  options.network = NetworkBound(network);
  MR_ASSIGN_OR_RETURN(const double cap, params->Number("cap", 0.1, 0, 1));
  MR_ASSIGN_OR_RETURN(const double slow_task, params->Number("slow_task", 0.25, 0, 1));
  MR_ASSIGN_OR_RETURN(const double slow_node, params->Number("slow_node", 0.25, 0, 1));
  MR_ASSIGN_OR_RETURN(const double gain, params->Number("gain", 0, 0, 100));
  MR_ASSIGN_OR_RETURN(const double worth, params->Number("worth", 0, 0, 100));
  MR_ASSIGN_OR_RETURN(const double outpaced, params->Number("outpaced", 0, 0, 100));
  MR_ASSIGN_OR_RETURN(const size_t estimator, params->Choice("estimator", {"score", "phases"}));
  return std::unique_ptr<Policy>(
      std::make_unique<Late>(options, cap, slow_task, slow_node, estimator == 1, gain, worth, outpaced));
}

}  // namespace mr::sched
