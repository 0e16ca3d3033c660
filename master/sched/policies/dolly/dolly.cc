#include "master/sched/policies/dolly/dolly.h"

#include <algorithm>
#include <set>

#include "master/sched/job_graph.h"
#include "master/sched/policies/common/fair_share.h"
#include "master/sched/policies/common/figures.h"
#include "master/sched/policies/common/lent_slots.h"
#include "master/sched/policies/common/network_bound.h"
#include "master/sched/policies/dolly/clone_credit.h"
#include "master/sched/policies/dolly/dolly_budget.h"
#include "master/sched/policies/dolly/dolly_facts.h"
#include "master/sched/policies/dolly/dolly_rules.h"
#include "master/sched/policies/dolly/reasons.h"
#include "master/sched/policies/dolly/straggler_chance.h"

namespace mr::sched {

namespace {

enum class Admission : size_t { kBudget, kPreempt, kFcfs };

struct Options {
  double epsilon = 0;
  Budget budget;
  StragglerChance chance;
  Admission admission = Admission::kBudget;
  bool partial = false;
  bool in_share = false;
  CloneCredit credit{0, Cause::kClone, 0};
  NetworkBound network{false};
};

// Share of idle slots that counts for the credit on a full cluster, where jobs clone within their own share. A guess.
constexpr double kLeastIdle = .25;
// Shares and ceilings are sums and quotients of doubles: a demand that equals the limit fits.
constexpr double kRoundingOfSlots = 1e-6;

class Dolly final : public Policy {
 public:
  explicit Dolly(Options options) : options_(options), budget_(options.budget) {}
  std::string_view name() const override { return kDolly; }

  void Refine(const Trigger& trigger, const View& view, Rng&, Plan& plan) const override {
    if (const auto* offer = std::get_if<SlotOffer>(&trigger)) {
      if (!offer->idle) Offer(view, &plan);
    } else if (const auto* changed = std::get_if<AttemptsChanged>(&trigger)) {
      budget_.GiveBack(view, changed->attempts, &plan);
    } else if (const auto* ended = std::get_if<JobsEnded>(&trigger)) {
      budget_.End(view, ended->jobs, &plan);
      options_.chance.Learn(view, ended->jobs, &plan);
      options_.credit.Learn(view, ended->jobs, &plan);
      options_.network.Learn(view, ended->jobs, &plan);
    }
  }

  std::optional<Reason> WhyAlone(const View& view, const AttemptId& id) const override {
    const auto code = static_cast<ReasonCode>(view.Number(kOfJob, FactId(id.task.job), Verdict(id.task.stage)));
    const Stage& stage = *view.state().FindStage(id.task.stage_id());
    const Task& task = stage.tasks[id.task.task];
    const uint32_t failed = TimesFailed(task);
    const bool alone = task.live <= 1 && task.wanted <= 1;
    if (code == DollyReason::kCloned && alone && failed >= kFailuresOfCloned)
      return Reason{DollyReason::kFailedTwice, "", {double(failed)}};
    if (code == ReasonCode::kNone || code == DollyReason::kCloned) return std::nullopt;
    const double n = static_cast<double>(stage.tasks.size());
    if (code == DollyReason::kCloneEnough) return Reason{code, "", {n, options_.chance.Of(view) * 100}};
    if (code == ReasonCode::kReadsBound || code == ReasonCode::kCopiesBound) return Reason{code, "", {}};
    if (code == DollyReason::kShareSpent) return Reason{code, "", {options_.credit.share() * 100}};
    const double asked = n * CloneCount(options_.chance.Of(view), static_cast<uint32_t>(n), options_.epsilon);
    const uint64_t all = view.state().slots().total;
    if (code == DollyReason::kNoBudget) {
      return Reason{code, "", {asked, static_cast<double>(budget_.Used(view)), budget_.Slots(view.state())}};
    }
    return Reason{
        code,
        "",
        {asked, static_cast<double>(HeldSlots(view.state())), options_.budget.tau * static_cast<double>(all)}};
  }

  std::vector<Figure> Figures(const View& view) const override {
    return {{kUsedFigure, "", static_cast<double>(budget_.Used(view))},
            {kBudgetFigure, "", budget_.Slots(view.state())}};
  }

 private:
  // Decides the phases whose first task is about to run.
  void Offer(const View& view, Plan* plan) const {
    // Only the edits so far: new ones are appended.
    for (size_t i = 0, n = plan->edits().size(); i < n; ++i) {
      const auto* launch = std::get_if<Launch>(&plan->edits()[i]);
      if (launch == nullptr || launch->cause != Cause::kFirst) continue;
      const StageId id = launch->attempt.task.stage_id();
      const Job& job = *view.state().FindJob(id.job);
      if (view.Serves(job) && view.FindFact(kOfJob, FactId(id.job), Verdict(id.stage)) == nullptr)
        Decide(view, job, id, plan);
    }
  }

  // Returns the fewest clones per task among the phases that this one reads; no bound if it reads files only.
  static uint32_t ClonesUpstream(const View& view, const Job& job, uint32_t stage) {
    uint32_t fewest = ~0u;
    for (const StageInput& input : job.graph.stages[stage].inputs) {
      if (!input.is_edge) continue;
      const int64_t c = view.Number(kOfJob, FactId(job.id), Clones(input.upstream));
      fewest = std::min(fewest, static_cast<uint32_t>(std::max<int64_t>(1, c)));
      if (MayDiffer(job, input.upstream)) fewest = 1;
    }
    return fewest;
  }

  // Returns whether the task may have clones. Committed and failed tasks are there if a phase is decided late: after a
  // restart with another list or release.
  static bool MayBeCloned(const Task& task) {
    return task.state != TaskState::kCommitted && TimesFailed(task) < kFailuresOfCloned;
  }

  static uint32_t Whole(double number) {
    return static_cast<uint32_t>(std::clamp(number + kRoundingOfSlots, 0.0, 1e9));
  }

  static uint32_t WorkersFor(const State& state, const StageSpec& spec, uint32_t most) {
    uint32_t n = 0;
    for (auto it = state.workers().begin(); it != state.workers().end() && n < most; ++it)
      n += state.MayEverRun(spec, it->second);
    return n;
  }

  // Returns the slots that this phase and its clones may take: what is left below the ceiling, or of the job's share.
  double Room(const State& state, const StageId& id) const {
    const double ceiling = options_.budget.tau * static_cast<double>(state.slots().total);
    const double below = ceiling - static_cast<double>(HeldSlots(state));
    if (options_.admission == Admission::kFcfs) return static_cast<double>(state.slots().total);
    return options_.in_share ? std::max(below, RoomInShare(state, id)) : below;
  }

  void Decide(const View& view, const Job& job, const StageId& id, Plan* plan) const {
    const State& state = view.state();
    const Stage& stage = job.stages[id.stage];
    const StageSpec& spec = job.graph.stages[id.stage];
    uint32_t n = static_cast<uint32_t>(stage.tasks.size());
    const double p = options_.chance.Of(view);
    uint32_t c = std::min(CloneCount(p, n, options_.epsilon), ClonesUpstream(view, job, id.stage));
    c = std::min(c, WorkersFor(state, spec, c));
    if (spec.side_effects || stage.indeterminate) c = 1;
    const auto say = [&](ReasonCode code) {
      plan->Remember(kOfJob, FactId(job.id), Verdict(id.stage), static_cast<int64_t>(code));
    };
    if (c <= 1) return say(DollyReason::kCloneEnough);
    if (const auto why = options_.network.WhyNot(view, job, id.stage)) return say(why->code);
    const auto size = n;
    n = static_cast<uint32_t>(std::count_if(stage.tasks.begin(), stage.tasks.end(), MayBeCloned));
    if (n == 0) return say(DollyReason::kCloneEnough);
    double left = budget_.Slots(state) - static_cast<double>(budget_.Used(view));
    const double room = Room(state, id);
    if (options_.admission == Admission::kPreempt && c * n <= room + kRoundingOfSlots) {
      left += budget_.Preempt(view, size, budget_.Charge(c, n) - left, plan);
    }
    if (options_.partial || options_.admission == Admission::kFcfs) {
      n = std::min({n, Whole(left / static_cast<double>(budget_.Charge(c, 1))), std::max(1u, Whole(room / c))});
    }
    if (n == 0 || static_cast<double>(budget_.Charge(c, n)) > left + kRoundingOfSlots)
      return say(DollyReason::kNoBudget);
    if (c * n > room + kRoundingOfSlots) return say(DollyReason::kTooBusy);
    if (options_.credit.WhyNot(view, size, size_t{c - 1} * n)) return say(DollyReason::kShareSpent);
    say(DollyReason::kCloned);
    plan->Remember(kOfJob, FactId(job.id), Clones(id.stage), int64_t{c});
    plan->Remember(kOfJob, FactId(job.id), Charged(id.stage), budget_.Charge(c, n));
    budget_.Take(view, budget_.Charge(c, n), plan);
    options_.credit.Take(view, id, size, size_t{c - 1} * n, plan);
    for (uint32_t t = 0; t < stage.tasks.size() && n > 0; ++t) {
      if (MayBeCloned(stage.tasks[t]) && plan->WantAttempts({id.job, id.stage, t}, c)) --n;
    }
  }

  const Options options_;
  const CloneBudget budget_;
};

}  // namespace

void DropDolly(const View& view, Plan* plan) {
  for (const auto& [id, job] : view.state().jobs()) {
    if (!job.running() || !view.Serves(job)) continue;
    for (uint32_t s = 0; s < job.stages.size(); ++s) {
      for (uint32_t t = 0; t < job.stages[s].tasks.size(); ++t) {
        if (job.stages[s].tasks[t].wanted > 1) plan->WantAttempts({id, s, t}, 1);
      }
    }
  }
  CloneCredit::GiveBack(view, plan);
  ForgetCharges(view, plan);
}

Result<std::unique_ptr<Policy>> MakeDolly(PolicyParams* params) {
  Options o;
  MR_ASSIGN_OR_RETURN(o.epsilon, params->Number("epsilon", 0.05, 1e-6, 0.99));
  MR_ASSIGN_OR_RETURN(o.budget.beta, params->Number("beta", 0.05, 0, 1));
  MR_ASSIGN_OR_RETURN(o.budget.tau, params->Number("tau", 0.8, 0, 1));
  MR_ASSIGN_OR_RETURN(const double floor, params->Number("floor", 0, 0, 1e6));
  o.budget.floor = static_cast<uint64_t>(floor);
  MR_ASSIGN_OR_RETURN(o.chance.prior, params->Number("p", 0.1, 0.001, 0.9));
  MR_ASSIGN_OR_RETURN(o.chance.refresh, params->Time("refresh", Seconds(3600)));
  MR_ASSIGN_OR_RETURN(const size_t charge, params->Choice("charge", {"literal", "extra"}));
  MR_ASSIGN_OR_RETURN(const size_t admission, params->Choice("admission", {"budget", "preempt", "fcfs"}));
  MR_ASSIGN_OR_RETURN(o.partial, params->Flag("partial", false));
  MR_ASSIGN_OR_RETURN(o.in_share, params->Flag("in_share", false));
  MR_ASSIGN_OR_RETURN(const double share, params->Number("share", 0, 0, 1));
  o.credit = CloneCredit(share, Cause::kClone, kLeastIdle);
  MR_ASSIGN_OR_RETURN(const bool network, params->Flag("network", false));
  o.network = NetworkBound(network);
  o.budget.originals = charge == 0;
  o.admission = static_cast<Admission>(admission);
  return std::unique_ptr<Policy>(std::make_unique<Dolly>(o));
}

}  // namespace mr::sched
