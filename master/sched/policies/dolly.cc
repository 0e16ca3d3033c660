#include "master/sched/policies/dolly.h"

#include <algorithm>
#include <set>

#include "master/sched/job_graph.h"
#include "master/sched/policies/dolly_facts.h"
#include "master/sched/policies/dolly_rules.h"
#include "master/sched/policies/figures.h"
#include "master/sched/policies/lent_slots.h"
#include "master/sched/policies/straggler_chance.h"

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
};

class Dolly final : public Policy {
 public:
  explicit Dolly(Options options) : options_(options) {}
  std::string_view name() const override { return "dolly"; }

  void Refine(const Trigger& trigger, const View& view, Rng&, Plan& plan) const override {
    if (const auto* offer = std::get_if<SlotOffer>(&trigger)) {
      if (!offer->idle) Offer(view, &plan);
    } else if (const auto* changed = std::get_if<AttemptsChanged>(&trigger)) {
      GiveBack(view, changed->attempts, &plan);
    } else if (const auto* ended = std::get_if<JobsEnded>(&trigger)) {
      End(view, ended->jobs, &plan);
    }
  }

  std::optional<Reason> WhyAlone(const View& view, const AttemptId& id) const override {
    const auto code = static_cast<ReasonCode>(view.Number(kOfJob, FactId(id.task.job), Verdict(id.task.stage)));
    const Stage& stage = *view.state().FindStage(id.task.stage_id());
    const uint32_t failed = TimesFailed(stage.tasks[id.task.task]);
    if (code == ReasonCode::kCloned && failed >= kFailuresOfCloned) return Reason{ReasonCode::kFailedTwice, "", {double(failed)}};
    if (code == ReasonCode::kNone || code == ReasonCode::kCloned) return std::nullopt;
    const double n = static_cast<double>(stage.tasks.size());
    if (code == ReasonCode::kCloneEnough) return Reason{code, "", {n, options_.chance.Of(view) * 100}};
    const double asked = n * CloneCount(options_.chance.Of(view), static_cast<uint32_t>(n), options_.epsilon);
    const uint64_t all = view.state().slots().total;
    if (code == ReasonCode::kNoBudget) {
      return Reason{code, "", {asked, static_cast<double>(view.Number(kOfAll, 0, kUsed)), BudgetSlots(all)}};
    }
    return Reason{code, "", {asked, static_cast<double>(HeldSlots(view.state())), options_.budget.tau * static_cast<double>(all)}};
  }

  std::vector<Figure> Figures(const View& view) const override {
    return {{kUsedFigure, "", static_cast<double>(view.Number(kOfAll, 0, kUsed))},
            {kBudgetFigure, "", BudgetSlots(view.state().slots().total)}};
  }

 private:
  // Lent slots that come back are as good as free ones.
  static uint64_t HeldSlots(const State& state) {
    uint64_t held = 0;
    for (const auto& [number, queue] : state.busy_queues()) held += queue->held_total();
    return held - SlotsThatComeBack(state);
  }

  // The first task of a phase is about to run: the phase is decided.
  void Offer(const View& view, Plan* plan) const {
    // Of the draft as it is now: what is decided stands behind it.
    for (size_t i = 0, n = plan->edits().size(); i < n; ++i) {
      const auto* launch = std::get_if<Launch>(&plan->edits()[i]);
      if (launch == nullptr || launch->cause != Cause::kFirst) continue;
      const StageId id = launch->attempt.task.stage_id();
      const Job& job = *view.state().FindJob(id.job);
      if (view.Serves(job) && view.FindFact(kOfJob, FactId(id.job), Verdict(id.stage)) == nullptr) Decide(view, job, id, plan);
    }
  }

  // Clones that the phases read have, each; no bound where it reads files only.
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

  double BudgetSlots(uint64_t all) const {
    return std::max(static_cast<double>(options_.budget.floor), options_.budget.beta * static_cast<double>(all));
  }
  int64_t Charge(uint32_t c, uint32_t n) const { return static_cast<int64_t>(DemandOf(c, n, options_.budget).charge); }

  // That may run as clones in this room of the budget, and below the ceiling unless admission is fcfs.
  uint32_t MostTasks(uint32_t c, double room, uint64_t all, uint64_t held) const {
    double most = room / static_cast<double>(Charge(c, 1));
    const double ceiling = (options_.budget.tau * static_cast<double>(all) - static_cast<double>(held)) / c;
    if (options_.admission != Admission::kFcfs) most = std::min(most, ceiling);
    return static_cast<uint32_t>(std::max(0.0, most));
  }

  static uint32_t WorkersFor(const State& state, const StageSpec& spec, uint32_t most) {
    uint32_t n = 0;
    for (auto it = state.workers().begin(); it != state.workers().end() && n < most; ++it) n += state.MayEverRun(spec, it->second);
    return n;
  }

  // With so many more slots the job holds no more than fairness gives it while others wait.
  static bool StaysInShare(const State& state, const Job& job, uint32_t more) {
    double weights = 0;
    for (const auto& [number, queue] : state.busy_queues()) weights += queue->weight;
    const Queue& q = *job.in_queue;
    return job.holding + more <= state.slots().total * q.weight / weights / q.jobs;
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
    if (c <= 1) return say(ReasonCode::kCloneEnough);
    const uint64_t all = state.slots().total, held = HeldSlots(state);
    int64_t used = view.Number(kOfAll, 0, kUsed);
    const double limit = BudgetSlots(all);
    const bool fcfs = options_.admission == Admission::kFcfs;
    if (options_.admission == Admission::kPreempt) used -= Preempt(view, n, used + Charge(c, n) - limit, plan);
    if (options_.partial || fcfs) n = std::min(n, MostTasks(c, limit - static_cast<double>(used), all, held));
    if (n == 0 || static_cast<double>(used + Charge(c, n)) > limit) return say(ReasonCode::kNoBudget);
    if (!fcfs && !Admits(0, DemandOf(c, n, options_.budget), held, all, options_.budget) &&
        !(options_.in_share && StaysInShare(state, job, c * n))) {
      return say(ReasonCode::kTooBusy);
    }
    say(ReasonCode::kCloned);
    plan->Remember(kOfJob, FactId(job.id), Clones(id.stage), int64_t{c});
    plan->Remember(kOfJob, FactId(job.id), Charged(id.stage), Charge(c, n));
    plan->Remember(kOfAll, 0, kUsed, used + Charge(c, n));
    for (uint32_t t = 0; t < stage.tasks.size() && n > 0; ++t) {
      if (stage.tasks[t].state != TaskState::kCommitted && plan->WantAttempts({id.job, id.stage, t}, c)) --n;
    }
  }

  // Ends the clones of phases of more than n tasks, the largest first, until so many slots are back. How many are.
  int64_t Preempt(const View& view, uint32_t n, double need, Plan* plan) const {
    std::vector<std::pair<size_t, StageId>> larger;
    if (need <= 0) return 0;
    for (const auto& [id, job] : view.state().jobs()) {
      if (!job.running() || !view.Serves(job)) continue;
      for (uint32_t s = 0; s < job.stages.size(); ++s) {
        const size_t tasks = job.stages[s].tasks.size();
        if (tasks > n && view.Number(kOfJob, FactId(id), Charged(s)) > 0) larger.push_back({tasks, {id, s}});
      }
    }
    std::sort(larger.rbegin(), larger.rend());
    int64_t freed = 0;
    for (const auto& [tasks, id] : larger) {
      if (static_cast<double>(freed) >= need) break;
      freed += view.Number(kOfJob, FactId(id.job), Charged(id.stage));
      plan->Remember(kOfJob, FactId(id.job), Charged(id.stage), int64_t{0});
      plan->Remember(kOfJob, FactId(id.job), Clones(id.stage), int64_t{1});
      const Stage& stage = *view.state().FindStage(id);
      for (uint32_t t = 0; t < stage.tasks.size(); ++t) plan->WantAttempts({id.job, id.stage, t}, 1);
      for (const auto& [t, number] : stage.active) {
        const AttemptId attempt{{id.job, id.stage, t}, number};
        const Attempt* a = view.state().FindAttempt(attempt);
        if (a->live() && a->cause == Cause::kClone) plan->Kill(attempt, {ReasonCode::kNoBudget, "", {need, 0, 0}});
      }
    }
    return freed;
  }

  // What its phases may still hold, where one of their attempts moved: of one that is cloned no more, what its clones do.
  void GiveBack(const View& view, const std::vector<AttemptId>& changed, Plan* plan) const {
    int64_t used = -1, before = 0;
    std::set<StageId> seen;
    for (const AttemptId& id : changed) {
      const Attempt* a = view.state().FindAttempt(id);
      if (a == nullptr) continue;
      const Job& job = *view.state().FindJob(id.task.job);
      const bool stopped = MayDiffer(job, id.task.stage);
      if ((a->holds_slot() && !stopped) || !seen.insert(id.task.stage_id()).second) continue;
      const uint64_t fact = FactId(job.id);
      if (!job.running() || !view.Serves(job)) continue;
      if (view.Number(kOfJob, fact, Verdict(id.task.stage)) != static_cast<int64_t>(ReasonCode::kCloned)) continue;
      const int64_t charged = view.Number(kOfJob, fact, Charged(id.task.stage));
      if (charged == 0) continue;
      const Stage& stage = job.stages[id.task.stage];
      const int64_t c = Charge(static_cast<uint32_t>(view.Number(kOfJob, fact, Clones(id.task.stage))), 1);
      int64_t may = stopped ? 0 : c * static_cast<int64_t>(stage.tasks.size() - stage.committed);
      for (const auto& [t, number] : stage.active) {
        const bool clone = stopped && view.state().FindAttempt({{job.id, id.task.stage, t}, number})->cause == Cause::kClone;
        may += clone || stage.tasks[t].state == TaskState::kCommitted;
      }
      if (may >= charged) continue;
      if (used < 0) used = before = view.Number(kOfAll, 0, kUsed);
      used = std::max<int64_t>(0, used - (charged - may));
      plan->Remember(kOfJob, fact, Charged(id.task.stage), may);
    }
    if (used != before && used >= 0) plan->Remember(kOfAll, 0, kUsed, used);
  }

  void End(const View& view, const std::vector<JobId>& jobs, Plan* plan) const {
    int64_t back = 0;
    for (const JobId id : jobs) {
      const Job* job = view.state().FindJob(id);
      if (job == nullptr || !view.Serves(*job)) continue;
      for (uint32_t s = 0; s < job->stages.size(); ++s) back += view.Number(kOfJob, FactId(id), Charged(s));
      plan->ForgetAll(kOfJob, FactId(id));
    }
    if (back > 0) plan->Remember(kOfAll, 0, kUsed, std::max<int64_t>(0, view.Number(kOfAll, 0, kUsed) - back));
    options_.chance.Learn(view, jobs, plan);
  }

  const Options options_;
};

}  // namespace

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
  o.budget.originals = charge == 0;
  o.admission = static_cast<Admission>(admission);
  return std::unique_ptr<Policy>(std::make_unique<Dolly>(o));
}

}  // namespace mr::sched
