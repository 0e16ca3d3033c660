#include "master/sched/policies/baselines/evict.h"

#include <algorithm>
#include <tuple>

#include "master/sched/policies/baselines/guarantees.h"
#include "master/sched/policies/baselines/reasons.h"
#include "master/sched/policies/common/fair_share.h"
#include "master/sched/policies/common/place.h"

namespace mr::sched {

namespace {

constexpr double kOver = 1e-6;  // of a slot: shares come from a bisection

// Returns whether the attempt may end and its slot would be of use.
bool Helps(const State& state, const AttemptId& id, const Wanted& wanted) {
  if (state.Spec(id.task.stage_id()).side_effects) return false;
  return std::any_of(wanted.stages.begin(), wanted.stages.end(),
                     [&](const StageId& stage) { return SlotHelps(state, id, stage); });
}

Reason Evicted(const Job& wanting) {
  return {BaselineReason::kEvicted, "", {double(wanting.holding), double(wanting.share)}};
}

// Returns the live attempts of the job, the youngest last.
std::vector<LaunchKey> LiveOf(const State& state, const Job& job) {
  std::vector<LaunchKey> live;
  for (uint32_t s = 0; s < job.stages.size(); ++s) {
    for (const auto& [task, number] : job.stages[s].active) {
      const AttemptId id{{job.id, s, task}, number};
      const Attempt& a = *state.FindAttempt(id);
      if (a.live()) live.push_back({a.launched_at, id});
    }
  }
  std::sort(live.begin(), live.end());
  return live;
}

uint32_t Live(const State& state, const Job& job) {
  uint32_t live = 0;
  for (uint32_t s = 0; s < job.stages.size(); ++s) {
    for (const auto& [task, number] : job.stages[s].active)
      live += state.FindAttempt({{job.id, s, task}, number})->live();
  }
  return live;
}

// Returns how many attempts of the job the draft ends.
uint32_t Drafted(const Job& job, const Plan& plan) {
  return static_cast<uint32_t>(std::count_if(plan.edits().begin(), plan.edits().end(), [&](const Edit& edit) {
    const auto* kill = std::get_if<Kill>(&edit);
    return kill != nullptr && kill->attempt.task.job == job.id;
  }));
}

void EvictSpare(const State& state, const Wanted& wanted, uint32_t* need, Plan* plan) {
  const auto& guaranteed = state.guaranteed();
  for (auto it = guaranteed.rbegin(); it != guaranteed.rend() && *need > 0; ++it) {
    const Job& job = *state.FindJob(it->second);
    if (job.holding <= job.share || &job == wanted.job) continue;
    const std::vector<LaunchKey> live = LiveOf(state, job);
    const auto stay = static_cast<uint32_t>(live.size()) - Drafted(job, *plan);
    uint32_t spare = stay - std::min(stay, job.share);
    const Reason beyond{BaselineReason::kBeyondGuarantee, "", {double(job.holding), double(job.share)}};
    const Reason reason = wanted.job != nullptr ? Evicted(*wanted.job) : beyond;
    for (auto attempt = live.rbegin(); attempt != live.rend() && spare > 0 && *need > 0; ++attempt) {
      if (!Helps(state, attempt->attempt, wanted)) continue;
      if (plan->Kill(attempt->attempt, reason)) --spare, --*need;
    }
  }
}

}  // namespace

void Wanted::Add(const Job& from) {
  for (uint32_t s = 0; s < from.stages.size(); ++s) {
    if (!from.stages[s].in_ready) continue;
    stages.push_back({from.id, s});
    for (const TaskClass& c : from.stages[s].classes) tasks += c.ready.pending();
  }
}

uint32_t SlotsComing(const State& state, const Wanted& wanted) {
  const auto& ending = state.ending();
  return static_cast<uint32_t>(
      std::count_if(ending.begin(), ending.end(), [&](const AttemptId& id) { return Helps(state, id, wanted); }));
}

uint32_t Evict(const State& state, const Wanted& wanted, const std::map<uint64_t, double>& shares, Plan* plan) {
  uint32_t need = std::min(wanted.most, wanted.tasks);
  need -= std::min(need, SlotsComing(state, wanted));
  if (need == 0) return 0;
  const uint32_t wants = need;
  const bool spare_last = state.sharing().spare_last;
  if (spare_last) EvictSpare(state, wanted, &need, plan);
  // Live attempts that the draft leaves to jobs with a guarantee, which keep as many as that.
  std::map<JobId, uint32_t> left_to;
  std::map<JobId, bool> fits;
  const auto keeps = [&](const Job& job) {
    if (spare_last) return job.share > 0;
    if (wanted.job != nullptr) {
      const auto [it, added] = fits.try_emplace(job.id);
      if (added) it->second = FitsInShare(state, job);
      if (it->second) return true;
    }
    if (job.share == 0) return false;
    const auto [it, added] = left_to.try_emplace(job.id);
    if (added) it->second = Live(state, job) - Drafted(job, *plan);
    return it->second <= job.share;
  };
  const auto own = [](const Queue& q) { return double(q.live.size()) - q.guaranteed; };
  std::vector<std::pair<double, const Queue*>> above;
  for (const auto& [number, other] : state.busy_queues()) {
    const double over = own(*other) - shares.at(number);
    // A job's guarantee comes before any queue's share.
    const bool pays = wanted.job != nullptr ? own(*other) > 0 : over > kOver && other != wanted.queue;
    if (pays) above.emplace_back(-over, other);
  }
  std::sort(above.begin(), above.end(), [](const auto& a, const auto& b) {
    return std::tie(a.first, a.second->number) < std::tie(b.first, b.second->number);
  });
  for (const auto& entry : above) {
    const auto* const other = entry.second;
    double left = own(*other);
    const double share = wanted.job != nullptr ? other->min_share : shares.at(other->number);
    other->live.WalkBack([&](const LaunchKey& live) {
      if (need == 0 || left - 1 + kOver < share || live.at < wanted.not_before) return false;
      const AttemptId& id = live.attempt;
      const Job& job = *state.FindJob(id.task.job);
      if (keeps(job) || !Helps(state, id, wanted)) return true;
      const Reason preempted{BaselineReason::kPreempted, "", {static_cast<double>(other->held_total()), share}};
      if (!plan->Kill(id, wanted.job != nullptr ? Evicted(*wanted.job) : preempted)) return true;
      if (job.share > 0) --left_to[job.id];
      --left;
      --need;
      return true;
    });
  }
  return wants - need;
}

}  // namespace mr::sched
