#include "master/sched/policies/evict.h"

#include <algorithm>
#include <tuple>

#include "master/sched/policies/guarantees.h"
#include "master/sched/policies/place.h"

namespace mr::sched {

namespace {

constexpr double kOver = 1e-6;  // of a slot: shares come from a bisection

// The attempt's slot would be of use, and it may end.
bool Helps(const State& state, const AttemptId& id, const Wanted& wanted) {
  if (state.Spec(id.task.stage_id()).side_effects) return false;
  return std::any_of(wanted.stages.begin(), wanted.stages.end(),
                     [&](const StageId& stage) { return SlotHelps(state, id, stage); });
}

// Live attempts of the job that no edit of the draft ends.
uint32_t LiveOf(const Job& job, const Plan& plan) {
  uint32_t live = 0;
  for (const Stage& stage : job.stages) {
    for (const auto& [task, number] : stage.active) {
      const auto& attempts = stage.tasks[task].attempts;
      live += std::any_of(attempts.begin(), attempts.end(),
                          [n = number](const Attempt& a) { return a.number == n && a.live(); });
    }
  }
  for (const Edit& edit : plan.edits()) {
    const auto* kill = std::get_if<Kill>(&edit);
    live -= kill != nullptr && kill->attempt.task.job == job.id;
  }
  return live;
}

// Attempts that end already, whose slots would be of use.
uint32_t Coming(const State& state, const Wanted& wanted) {
  uint32_t coming = 0;
  for (const auto& [id, job] : state.jobs()) {
    if (job.holding == 0) continue;
    for (uint32_t s = 0; s < job.stages.size(); ++s) {
      for (const auto& [task, number] : job.stages[s].active) {
        const AttemptId attempt{{id, s, task}, number};
        coming += !state.FindAttempt(attempt)->live() && Helps(state, attempt, wanted);
      }
    }
  }
  return coming;
}

void EvictSpare(const State& state, const Wanted& wanted, uint32_t* need, Plan* plan) {
  const auto& guaranteed = state.guaranteed();
  for (auto it = guaranteed.rbegin(); it != guaranteed.rend() && *need > 0; ++it) {
    const Job& job = *state.FindJob(it->second);
    if (!AtGuarantee(job) || &job == wanted.job || job.in_queue == nullptr) continue;
    const uint32_t live = LiveOf(job, *plan);
    uint32_t spare = live - std::min(live, job.share);
    if (spare == 0) continue;
    const Reason reason{ReasonCode::kEvicted,
                        "",
                        {double(wanted.job != nullptr ? wanted.job->holding : 0),
                         double(wanted.job != nullptr ? wanted.job->share : 0)}};
    job.in_queue->live.WalkBack([&](const LaunchKey& live_key) {
      if (*need == 0 || spare == 0) return false;
      if (live_key.attempt.task.job != job.id || !Helps(state, live_key.attempt, wanted)) return true;
      if (plan->Kill(live_key.attempt, reason)) --spare, --*need;
      return true;
    });
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

uint32_t SlotsComing(const State& state) {
  uint32_t coming = 0;
  for (const auto& [number, q] : state.busy_queues())
    coming += q->held_total() - static_cast<uint32_t>(q->live.size());
  return coming;
}

void Evict(const State& state, const Wanted& wanted, const std::map<uint64_t, double>& shares, Plan* plan) {
  uint32_t need = std::min(wanted.most, wanted.tasks);
  if (need == 0) return;
  need -= std::min(need, Coming(state, wanted));
  EvictSpare(state, wanted, &need, plan);
  const GuaranteedUse guaranteed = UseOfGuarantees(state);
  const auto own = [&](const Queue& q) { return double(q.live.size()) - guaranteed.Of(q); };
  std::vector<std::pair<double, const Queue*>> above;
  for (const auto& [number, other] : state.busy_queues()) {
    const double over = own(*other) - shares.at(number);
    // What a job is guaranteed comes before any queue's share.
    const bool pays = wanted.job != nullptr ? own(*other) > 0 : over > kOver && other != wanted.queue;
    if (pays) above.emplace_back(-over, other);
  }
  std::sort(above.begin(), above.end(), [](const auto& a, const auto& b) {
    return std::tie(a.first, a.second->number) < std::tie(b.first, b.second->number);
  });
  for (const auto& [over, other] : above) {
    double left = own(*other);
    const double share = wanted.job != nullptr ? other->min_share : shares.at(other->number);
    other->live.WalkBack([&](const LaunchKey& live) {
      if (need == 0 || left - 1 + kOver < share) return false;
      const AttemptId& id = live.attempt;
      if (state.FindJob(id.task.job)->share > 0 || !Helps(state, id, wanted)) return true;
      const Reason queue{ReasonCode::kPreempted, "", {static_cast<double>(other->held_total()), share}};
      const Reason job{ReasonCode::kEvicted,
                       "",
                       {double(wanted.job != nullptr ? wanted.job->holding : 0),
                        double(wanted.job != nullptr ? wanted.job->share : 0)}};
      if (!plan->Kill(id, wanted.job != nullptr ? job : queue)) return true;
      --left;
      --need;
      return true;
    });
  }
}

}  // namespace mr::sched
