#include "master/sched/policies/baselines/guarantee_preemption.h"

#include <algorithm>

#include "master/sched/plan.h"
#include "master/sched/policies/baselines/evict.h"

namespace mr::sched {

namespace {

constexpr char kJobScope[] = "job";
constexpr char kBelowGuarantee[] = "below_guarantee_since";
// The last review that could evict for the job; the slots that it held at the last eviction, and how often in a row
// that gained it nothing.
constexpr char kReviewedAt[] = "reviewed_at", kHeldThen[] = "held_at_eviction", kInVain[] = "evicted_in_vain";
// An attempt ends for a job only if it has run at most this many times as long as the job has been below its guarantee.
// Older ones have more to lose than the job, and slots come free by themselves. A guess. Not with spare=last, as in
// Jockey's paper, where spare slots are taken back at once.
constexpr int64_t kMostLost = 2;
constexpr int64_t kMostInVain = 10;         // doublings of the timeout
constexpr Duration kRarest = Seconds(900);  // a guess: a job with a deadline runs for hours at most

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
  if (timeout_.ns <= 0 || before_offers) return;
  for (const auto& [due, id] : state.wanting()) ReviewJob(*state.FindJob(id), view, shares, plan);
}

bool GuaranteePreemption::AnyEvicted(const State& state) const {
  return std::any_of(state.wanting().begin(), state.wanting().end(),
                     [&](const auto& entry) { return Find(state, FactId(entry.second), kHeldThen) != nullptr; });
}

void GuaranteePreemption::ReviewJob(const Job& job, const View& view, const std::map<uint64_t, double>& shares,
                                    Plan* plan) const {
  const State& state = view.state();
  state.Look();
  const uint64_t fact = FactId(job.id);
  const FactValue* since = Find(state, fact, kBelowGuarantee);
  Wanted wanted;
  wanted.Add(job);
  wanted.most = Most(job);
  if (wanted.tasks == 0 || wanted.most == 0) {
    if (since != nullptr) plan->ForgetAll(kJobScope, fact);
    return;
  }
  Instant below = view.now();
  if (since != nullptr) below.ns = std::get<int64_t>(*since);
  const auto number = [&](const char* name) {
    const FactValue* value = Find(state, fact, name);
    return value == nullptr ? int64_t{-1} : std::get<int64_t>(*value);
  };
  int64_t vain = std::max<int64_t>(0, number(kInVain));
  Instant from;
  from.ns = std::max(below.ns, number(kReviewedAt));
  // The longer a job has waited, the rarer are the reviews: attempts of a quarter of the time more can end by then.
  const auto next = [&] {
    const Duration waited{(from - below).ns / 4};
    return from + std::max(std::min(timeout_ * (int64_t{1} << vain), std::max(timeout_, kRarest)), waited);
  };
  if (since != nullptr && view.now() < next()) {
    if (view.FindTimer(fact) == nullptr) plan->WakeAt(fact, next());  // of a list with a shorter timeout, it has passed
    return;
  }
  if (since != nullptr) {
    wanted.job = &job;
    if (!state.sharing().spare_last) wanted.not_before.ns = view.now().ns - kMostLost * (view.now() - below).ns;
    const uint32_t coming = SlotsComing(state, wanted);
    if (Evict(state, wanted, shares, plan) > 0 || coming > 0) {
      // The freed slots may still go to others, if a later policy makes the job's tasks wait for another place or time.
      // Endless evictions would then delay the others without a gain.
      if (job.holding > number(kHeldThen))
        vain = 0;
      else if (coming == 0)
        vain = std::min(vain + 1, kMostInVain);
      plan->Remember(kJobScope, fact, kHeldThen, int64_t{job.holding});
      plan->Remember(kJobScope, fact, kInVain, vain);
    }
    from = view.now();
    plan->Remember(kJobScope, fact, kReviewedAt, from.ns);
  }
  plan->Remember(kJobScope, fact, kBelowGuarantee, below.ns);
  plan->WakeAt(fact, next());
}

}  // namespace mr::sched
