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

void EvictSpare(const State& state, const Wanted& wanted, uint32_t* need, Plan* plan) {
  const auto& guaranteed = state.guaranteed();
  for (auto it = guaranteed.rbegin(); it != guaranteed.rend() && *need > 0; ++it) {
    const Job& job = *state.FindJob(it->second);
    uint32_t spare = SpareSlots(job);
    if (spare == 0 || &job == wanted.job || job.in_queue == nullptr) continue;
    const Reason reason{ReasonCode::kEvicted, "", {double(job.holding), double(job.share)}};
    job.in_queue->live.WalkBack([&](const LaunchKey& live) {
      if (*need == 0 || spare == 0) return false;
      if (live.attempt.task.job != job.id || !Helps(state, live.attempt, wanted)) return true;
      if (plan->Kill(live.attempt, reason)) --spare, --*need;
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
  // Slots of attempts that end already come first.
  if (wanted.job != nullptr) need -= std::min(need, SlotsComing(state));
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
    const double share = wanted.job != nullptr ? 0 : shares.at(other->number);
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
