#include "master/sched/policies/dolly/dolly_budget.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "master/sched/job_graph.h"
#include "master/sched/policies/dolly/dolly_facts.h"
#include "master/sched/policies/dolly/reasons.h"

namespace mr::sched {

namespace {

// Returns what the list of this view has charged.
int64_t Own(const View& view) { return view.Number(kOfAll, 0, kUsed); }

void Release(const View& view, int64_t slots, Plan* plan) {
  if (slots > 0) plan->Remember(kOfAll, 0, kUsed, std::max<int64_t>(0, Own(view) - slots));
}

}  // namespace

double CloneBudget::Slots(const State& state) const {
  return std::max(static_cast<double>(budget_.floor), budget_.beta * static_cast<double>(state.slots().total));
}

int64_t CloneBudget::Used(const View& view) const {
  const bool common = view.owner() == kDolly;
  int64_t used = 0;
  for (const auto& [text, list] : view.state().lists()) {
    if (common && !text.empty()) continue;
    const FactValue* fact = view.state().FindFact({kDolly + list.suffix, kOfAll, 0, kUsed});
    if (fact != nullptr) used += std::get<int64_t>(*fact);
  }
  return used;
}

void CloneBudget::Take(const View& view, int64_t slots, Plan* plan) const {
  // The draft may have given slots back already.
  int64_t used = Own(view);
  for (const Edit& edit : plan->edits()) {
    const auto* fact = std::get_if<Remember>(&edit);
    if (fact == nullptr || fact->policy != view.owner() || fact->scope != kOfAll || fact->name != kUsed) continue;
    used = std::get<int64_t>(fact->value);
  }
  plan->Remember(kOfAll, 0, kUsed, used + slots);
}

int64_t CloneBudget::MayHold(const View& view, const Job& job, uint32_t s) const {
  const Stage& stage = job.stages[s];
  const bool stopped = MayDiffer(job, s);
  const int64_t c = Charge(static_cast<uint32_t>(view.Number(kOfJob, FactId(job.id), Clones(s))), 1);
  int64_t may = stopped ? 0 : c * int64_t{stage.cloned};
  for (const auto& [t, number] : stage.active) {
    const Task& task = stage.tasks[t];
    if (task.state == TaskState::kCommitted) {
      ++may;
    } else if (stopped || task.wanted <= 1) {
      may += view.state().FindAttempt({{job.id, s, t}, number})->cause == Cause::kClone;
    }
  }
  return may;
}

void CloneBudget::GiveBack(const View& view, const std::vector<AttemptId>& changed, Plan* plan) const {
  int64_t back = 0;
  std::set<StageId> seen;
  for (const AttemptId& id : changed) {
    const Attempt* a = view.state().FindAttempt(id);
    if (a == nullptr) continue;
    const uint32_t s = id.task.stage;
    const Job& job = *view.state().FindJob(id.task.job);
    if ((a->holds_slot() && !MayDiffer(job, s)) || !seen.insert(id.task.stage_id()).second) continue;
    const uint64_t fact = FactId(job.id);
    if (!job.running() || !view.Serves(job)) continue;
    if (view.Number(kOfJob, fact, Verdict(s)) != static_cast<int64_t>(DollyReason::kCloned)) continue;
    const int64_t charged = view.Number(kOfJob, fact, Charged(s));
    if (charged == 0) continue;
    const int64_t may = MayHold(view, job, s);
    if (may >= charged) continue;
    back += charged - may;
    plan->Remember(kOfJob, fact, Charged(s), may);
  }
  Release(view, back, plan);
}

void CloneBudget::End(const View& view, const std::vector<JobId>& jobs, Plan* plan) const {
  int64_t back = 0;
  for (const JobId id : jobs) {
    const Job* job = view.state().FindJob(id);
    if (job == nullptr || !view.Serves(*job)) continue;
    for (uint32_t s = 0; s < job->stages.size(); ++s) back += view.Number(kOfJob, FactId(id), Charged(s));
    plan->ForgetAll(kOfJob, FactId(id));
  }
  Release(view, back, plan);
}

double CloneBudget::Preempt(const View& view, uint32_t n, double need, Plan* plan) const {
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
  int64_t freed = 0, most = 0;
  for (const auto& [tasks, id] : larger) most += view.Number(kOfJob, FactId(id.job), Charged(id.stage));
  if (static_cast<double>(most) < need) return 0;  // ending them would gain nothing
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
      if (a->live() && a->cause == Cause::kClone)
        plan->Kill(attempt, {DollyReason::kSmallerPhase, "", {std::ceil(need), double(n)}});
    }
  }
  Release(view, freed, plan);
  return static_cast<double>(freed);
}

}  // namespace mr::sched
