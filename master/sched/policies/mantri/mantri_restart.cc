#include "master/sched/policies/mantri/mantri_restart.h"

#include <algorithm>
#include <array>
#include <limits>

#include "master/sched/index/estimate.h"
#include "master/sched/policies/common/hopeful.h"
#include "master/sched/policies/common/speculation.h"
#include "master/sched/policies/mantri/mantri_order.h"
#include "master/sched/policies/mantri/mantri_rules.h"
#include "master/sched/policies/mantri/mantri_stage.h"
#include "master/sched/policies/mantri/mantri_why.h"

namespace mr::sched {

namespace {

constexpr double kNothing = std::numeric_limits<double>::infinity();
constexpr size_t kSeenWhileWaiting = 32, kDoubledSeen = 8, kOtherStages = 8;

uint64_t TimerOf(JobId job) { return uint64_t{job.epoch} << 32 | job.seq; }
JobId JobOfTimer(uint64_t id) { return {static_cast<uint32_t>(id >> 32), static_cast<uint32_t>(id)}; }

class MantriRestart final : public Policy {
 public:
  explicit MantriRestart(MantriRules rules) : rules_(rules), stages_(rules) {}
  std::string_view name() const override { return "mantri_restart"; }
  void AddNeeds(Needs* needs) const override {
    needs->statistics |= StatisticsWanted{.any = true, .speculation = true, .costs = true};
  }

  void Refine(const Trigger& trigger, const View& view, Rng&, Plan& plan) const override {
    if (const auto* offer = std::get_if<SlotOffer>(&trigger)) {
      Offer(*offer, view, &plan);
    } else if (const auto* changed = std::get_if<AttemptsChanged>(&trigger)) {
      for (const AttemptId& id : changed->attempts) {
        const Job* job = view.state().FindJob(id.task.job);
        if (job == nullptr || !view.Serves(*job) || !job->running()) continue;
        const Stage& stage = job->stages[id.task.stage];
        NoteSkew(view, stage, id, &plan);
        if (rules_.outpaced && OwnLive(stage.tasks[id.task.task]) > 1) Outpace(view, stage, id.task, &plan);
      }
    } else if (const auto* ended = std::get_if<JobsEnded>(&trigger)) {
      for (const JobId job : ended->jobs) stages_.Forget(job);
      rules_.network.Learn(view, ended->jobs, &plan);
    } else if (const auto* due = std::get_if<TimersDue>(&trigger)) {
      for (const uint64_t id : due->ids) Prune(view, JobOfTimer(id), &plan);
    }
  }

  std::optional<Reason> WhyAlone(const View& view, const AttemptId& attempt) const override {
    return WhyLeftAlone(rules_, view, attempt);
  }

  bool Seeks(const View& view, SlotKind kind) const override {
    if (stages_.Idle(view, kind).empty() || Narrow(view)) return false;
    size_t position = 0;
    while (const MantriIdle* seen = NextWithAny(view, kind, &position)) {
      if (Best(view, seen->key.stage, nullptr, false, true, &seen->doubled)) return true;
    }
    return false;
  }

 private:
  void Offer(const SlotOffer& offer, const View& view, Plan* plan) const {
    const State& state = view.state();
    const Launch* drafted = nullptr;
    for (const Edit& e : plan->edits()) {
      const auto* launch = std::get_if<Launch>(&e);
      if (launch == nullptr) continue;
      if (launch->cause != Cause::kFirst) return;
      drafted = launch;
    }
    const Worker& worker = *state.FindWorker(offer.worker);
    if (drafted != nullptr) {
      const Launch first = *drafted;
      if (InsteadOf(first, view, worker, plan)) return;
      if (view.Serves(*state.FindJob(first.attempt.task.job))) StartLargest(first, state, plan);
      return;
    }
    if (!offer.idle || !plan->passed().empty() || Narrow(view)) return;
    for (const SlotKind kind : {SlotKind::kMap, SlotKind::kReduce}) {
      if (!worker.is_free[KindIndex(kind)]) continue;
      size_t position = 0;
      while (const MantriIdle* seen = NextWithAny(view, kind, &position)) {
        if (Do(Best(view, seen->key.stage, &worker, false, true, &seen->doubled), view, worker, nullptr, plan)) return;
      }
    }
  }

  // While tasks wait: uses the slot for an act that is better than the start of a new task.
  bool InsteadOf(const Launch& first, const View& view, const Worker& worker, Plan* plan) const {
    if (Narrow(view)) return false;
    const State& state = view.state();
    const JobId id = first.attempt.task.job;
    const Job& job = *state.FindJob(id);
    for (uint32_t s = 0; s < job.stages.size() && view.Serves(job); ++s) {
      if (!worker.is_free[KindIndex(job.graph.stages[s].slot_kind)]) continue;
      if (Do(Best(view, {id, s}, &worker, true, true), view, worker, &first, plan)) return true;
    }
    size_t seen = 0;
    for (const StageKey& key : view.speculable(state.Spec(first.attempt.task.stage_id()).slot_kind)) {
      if (key.stage.job == id) continue;
      if (seen++ == kOtherStages) break;
      if (Do(Best(view, key.stage, &worker, true, false), view, worker, &first, plan)) return true;
    }
    return false;
  }

  bool Do(const std::optional<MantriAct>& act, const View& view, const Worker& worker, const Launch* first,
          Plan* plan) const {
    if (!act) return false;
    const TaskId& task = act->attempt.task;
    const Cause cause = act->anew ? Cause::kRestart : Cause::kSpeculative;
    const bool done = first != nullptr ? plan->Replace(first->attempt.task, task, worker.id, cause, act->reason)
                                       : plan->Launch(task, worker.id, cause, act->reason);
    if (!done) return false;
    if (act->anew) return plan->Kill(act->attempt, act->reason);
    const uint64_t id = TimerOf(task.job);
    const bool many = OwnLive(*view.state().FindTask(task)) + 1 > rules_.alpha;
    if (many && view.FindTimer(id) == nullptr) plan->WakeAt(id, view.now());
    return true;
  }

  // Returns whether the network bounds all stages. Asked once per trigger: the facts behind it cost more than Best.
  bool Narrow(const View& view) const { return rules_.network.WhyNotAny(view).has_value(); }

  // Returns the next stage in which an idle slot of some worker could be used, or null (Hopeful::Next).
  const MantriIdle* NextWithAny(const View& view, SlotKind kind, size_t* position) const {
    const auto has_any = [&](MantriIdle* seen) {
      return stages_.Refresh(view, kCandidatesSeen, seen) && (seen->candidates || !seen->doubled.empty());
    };
    const auto open = [&](const MantriIdle& seen) { return !view.state().QueueFull(*seen.job, kind); };
    return hopeful_[KindIndex(kind)].Next(view.state(), stages_.Idle(view, kind), position, has_any, open);
  }

  // Returns the best act in this stage with a slot of this worker (null: of a usual one). Requires: !Narrow. doubled:
  // its tasks with several attempts for which there may be an act; null: not known.
  std::optional<MantriAct> Best(const View& view, const StageId& id, const Worker* worker, bool waiting, bool speculate,
                                const std::vector<uint32_t>* doubled = nullptr) const {
    const State& state = view.state();
    const Stage& stage = *state.FindStage(id);
    const StageStatistics& s = stage.statistics;
    if (!s.speculable()) return std::nullopt;
    const size_t depth = waiting ? kSeenWhileWaiting : kCandidatesSeen;
    MantriStage& seen = stages_.Look(state, id, depth);
    const NewAttempt& fresh = seen.fresh;
    if (!fresh.known() || WhyNotCopies(rules_, view, id)) return std::nullopt;
    std::optional<double> factor;
    const auto location = [&] {
      if (!factor) factor = worker != nullptr ? LocationFactor(state, id, worker->id, fresh.mean()) : 1;
      return *factor;
    };
    std::optional<MantriAct> best;
    const auto consider = [&](uint32_t task) {
      auto act = JudgeTask(rules_, view, {id.job, id.stage, task}, worker, fresh, location(), waiting, speculate);
      if (act && (!best || act->saves > best->saves)) best = std::move(act);
    };
    std::optional<bool> knows_reads;
    const auto unseen = [&](const MantriCandidate& c) {  // as ReadsUnseen, which JudgeTask asks
      if (worker == nullptr || !c.split.Elsewhere(worker->id)) return false;
      if (!knows_reads) knows_reads = rules_.network.KnowsReads(view);
      return !*knows_reads;
    };
    const auto may = [&](const MantriCandidate& c) {
      return MayAct(rules_, fresh, c, view.now(), best ? best->saves : -kNothing, waiting, speculate, location);
    };
    for (const MantriCandidate& c : seen.dearest) {
      if (c.rank >= depth) break;
      if (!may(c)) continue;
      // The rest take less per byte and meet no rule: their whole time is no longer than that of a new attempt.
      if (c.cost <= location() * std::min(fresh.mean(), 2 * fresh.CostAt(rules_.delta))) break;
      if (!unseen(c)) consider(c.task);
    }
    // These may have fallen silent since they were predicted to be quick.
    const Duration age = std::max(seen.usual, seen.least_age);
    stages_.LoadEarliest(state, view.now(), age, &seen);
    for (const MantriCandidate& c : seen.earliest) {
      if (view.now() - c.started < age) break;
      if (!unseen(c) && may(c)) consider(c.task);
    }
    if (!speculate || s.doubled.empty() || (doubled != nullptr && doubled->empty())) return best;
    auto it = s.doubled.lower_bound(static_cast<uint32_t>(state.offers() * kDoubledSeen % stage.tasks.size()));
    for (size_t i = 0; i < std::min(kDoubledSeen, s.doubled.size()); ++i) {
      if (it == s.doubled.end()) it = s.doubled.begin();
      if (doubled == nullptr || std::binary_search(doubled->begin(), doubled->end(), *it)) consider(*it);
      ++it;
    }
    return best;
  }

  // Called when an attempt of a task has reported. Acts if the task has several.
  void Outpace(const View& view, const Stage& stage, const TaskId& id, Plan* plan) const {
    if (stage.statistics.doubled.count(id.task) == 0) return;
    const NewAttempt fresh(view.state().Counted(id.stage_id()), rules_.running);
    if (fresh.known()) KeepFastest(rules_, view, id, fresh, plan);
  }

  // Prunes tasks with more than alpha attempts, Delta after the last began.
  void Prune(const View& view, JobId id, Plan* plan) const {
    const Job* job = view.state().FindJob(id);
    if (job == nullptr || !job->running()) return;
    std::optional<double> next;
    for (uint32_t s = 0; s < job->stages.size(); ++s) {
      if (job->stages[s].statistics.doubled.empty()) continue;
      const StageStatistics& statistics = view.state().Counted({id, s});
      const NewAttempt fresh(statistics, rules_.running);
      if (!fresh.known()) {
        next = std::min(next.value_or(rules_.report), rules_.report);
        continue;
      }
      for (const uint32_t t : statistics.doubled) {
        const Task& task = job->stages[s].tasks[t];
        if (OwnLive(task) <= rules_.alpha) continue;
        const double wait = KeepFastest(rules_, view, {id, s, t}, fresh, plan);
        if (wait > 0) next = std::min(next.value_or(wait), wait);
      }
    }
    if (next) plan->WakeAt(TimerOf(id), view.now() + FromSeconds(*next));
  }

  const MantriRules rules_;
  mutable MantriStages stages_;  // a cache, as the next
  mutable std::array<Hopeful<MantriIdle>, 2> hopeful_;
};

}  // namespace

Result<std::unique_ptr<Policy>> MakeMantriRestart(PolicyParams* params) {
  MantriRules rules;
  MR_ASSIGN_OR_RETURN(rules.gamma, params->Number("gamma", rules.gamma, 0, 100));
  MR_ASSIGN_OR_RETURN(rules.margin, params->Number("margin", rules.margin, 1, 100));
  MR_ASSIGN_OR_RETURN(rules.delta, params->Number("delta", rules.delta, 0, 1));
  MR_ASSIGN_OR_RETURN(rules.alpha, params->Number("alpha", rules.alpha, 1, kMostRunning));
  MR_ASSIGN_OR_RETURN(rules.rho, params->Number("rho", rules.rho, 0, 1000));
  MR_ASSIGN_OR_RETURN(const size_t samples, params->Choice("samples", {"running", "finished"}));
  MR_ASSIGN_OR_RETURN(rules.outpaced, params->Flag("outpaced", rules.outpaced));
  MR_ASSIGN_OR_RETURN(const size_t pace, params->Choice("pace", {"recent", "hopeful"}));
  rules.hopeful = pace == 1;
  MR_ASSIGN_OR_RETURN(rules.own_slot, params->Flag("own_slot", false));
  MR_ASSIGN_OR_RETURN(const bool network, params->Flag("network", false));
  rules.network = NetworkBound(network);
  rules.running = samples == 0;
  MR_ASSIGN_OR_RETURN(const Duration report, params->Time("report", Seconds(10)));
  MR_ASSIGN_OR_RETURN(const Duration min_age, params->Time("min_age", {}));
  rules.report = report.seconds();
  rules.min_age = min_age.seconds();
  return std::unique_ptr<Policy>(std::make_unique<MantriRestart>(rules));
}

}  // namespace mr::sched
