#include "master/sched/policies/baselines/guarantee_preemption.h"

#include <algorithm>

#include "master/sched/plan.h"
#include "master/sched/policies/baselines/evict.h"

namespace mr::sched {

namespace {

constexpr char kJobScope[] = "job";
constexpr char kBelowGuarantee[] = "below_guarantee_since";
// Slots that the job held at the last eviction for it, and how often in a row that gained it nothing.
constexpr char kHeldThen[] = "held_at_eviction", kInVain[] = "evicted_in_vain";
constexpr int64_t kMostInVain = 10;  // doublings of the timeout: one second becomes a quarter of an hour

// Returns the slots that the job may get beside those that it holds, by its guarantee and by its queue.
uint32_t Most(const Job& job) {
  const uint32_t most = job.share - std::min(job.share, job.holding), of_queue = job.in_queue->max_share;
  return of_queue == 0 ? most : std::min(most, of_queue - std::min(of_queue, job.in_queue->held_total()));
}

}  // namespace

const FactValue* GuaranteePreemption::Find(const State& state, uint64_t job, const char* name) const {
  return state.FindFact({policy_, kJobScope, job, name});
}

void GuaranteePreemption::Review(const View& view, const std::map<uint64_t, double>& shares, bool before_offers,
                                 Plan* plan) const {
  const State& state = view.state();
  for (auto it = state.facts().lower_bound(FactName(policy_, kJobScope, 0, ""));
       it != state.facts().end() && it->first.policy == policy_ && it->first.scope == kJobScope; ++it) {
    const Job* job = state.FindJob(JobOfFact(it->first.id));
    const bool wants = job != nullptr && job->guarantee.place == GuaranteeCount::Place::kWanting;
    if (!wants) plan->Forget(kJobScope, it->first.id, it->first.name);
  }
  if (timeout_.ns <= 0) return;
  for (const auto& [due, id] : state.wanting()) ReviewJob(*state.FindJob(id), view, shares, before_offers, plan);
}

void GuaranteePreemption::ReviewJob(const Job& job, const View& view, const std::map<uint64_t, double>& shares,
                                    bool before_offers, Plan* plan) const {
  const State& state = view.state();
  state.Look();
  const uint64_t fact = FactId(job.id);
  const FactValue* since = Find(state, fact, kBelowGuarantee);
  if (since == nullptr && before_offers) return;
  Wanted wanted;
  wanted.Add(job);
  wanted.most = Most(job);
  if (wanted.tasks == 0 || wanted.most == 0) {
    if (since != nullptr) plan->ForgetAll(kJobScope, fact);
    return;
  }
  Instant from = view.now();
  if (since != nullptr) from.ns = std::get<int64_t>(*since);
  const auto number = [&](const char* name) {
    const FactValue* value = Find(state, fact, name);
    return value == nullptr ? int64_t{-1} : std::get<int64_t>(*value);
  };
  int64_t vain = std::max<int64_t>(0, number(kInVain));
  if (since != nullptr && view.now() < from + timeout_ * (int64_t{1} << vain)) return;
  if (since != nullptr) {
    wanted.job = &job;
    // The freed slots may still go to others, if a later policy makes the job's tasks wait for another place or time.
    // Endless evictions would then delay the others without a gain.
    const int64_t held = number(kHeldThen);
    if (job.holding > held)
      vain = 0;
    else if (SlotsComing(state, wanted) == 0)
      vain = std::min(vain + 1, kMostInVain);
    plan->Remember(kJobScope, fact, kHeldThen, int64_t{job.holding});
    plan->Remember(kJobScope, fact, kInVain, vain);
    Evict(state, wanted, shares, plan);
    from = view.now();
  }
  plan->Remember(kJobScope, fact, kBelowGuarantee, from.ns);
  plan->WakeAt(fact, from + timeout_ * (int64_t{1} << vain));
}

}  // namespace mr::sched
