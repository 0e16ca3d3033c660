#include "master/sched/policies/fair_preemption.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <vector>

#include "master/sched/policies/evict.h"
#include "master/sched/policies/guarantees.h"

namespace mr::sched {

namespace {

constexpr char kQueueScope[] = "queue";
constexpr char kJobScope[] = "job";
constexpr char kBelowGuarantee[] = "below_guarantee_since";
// What the job held when others were evicted for it last, and how often in a row that brought it nothing.
constexpr char kHeldThen[] = "held_at_eviction", kInVain[] = "evicted_in_vain";
constexpr int64_t kMostInVain = 10;  // doublings of the timeout: a quarter of an hour of one second
constexpr const char* kBelow[] = {"below_min_since", "below_share_since"};
constexpr double kNearly = 1e-6;  // shares come from a bisection

// A task of the queue has its inputs and no attempt: more slots would be of use. What only wants clones asks no one to go.
bool Lacks(const State& state, const Queue& q) {
  const auto waits = [&](const JobRank& rank) {
    const Job& job = *state.FindJob(rank.job);
    return job.share == 0 && std::any_of(job.stages.begin(), job.stages.end(), [](const Stage& stage) {
      return stage.in_ready && std::any_of(stage.classes.begin(), stage.classes.end(),
                                           [](const TaskClass& c) { return c.ready.pending() > 0; });
    });
  };
  for (const auto& jobs : q.ready) {
    for (auto it = jobs.begin(); it != jobs.end(); ++it) {
      if (waits(*it)) return true;
    }
  }
  return false;
}

// Attempts of its jobs without a guarantee.
uint32_t LiveOf(const Queue& q, const GuaranteedUse& guaranteed) {
  const auto live = static_cast<uint32_t>(q.live.size());
  return live - std::min(live, guaranteed.Of(q));
}

// By number, of queues with jobs. Slots but those within guarantees.
std::map<uint64_t, double> Shares(const State& state) {
  const GuaranteedUse guaranteed = UseOfGuarantees(state);
  const double total = state.slots().total - std::min(state.slots().total, guaranteed.within);
  std::set<uint64_t> lack;
  for (const auto& [number, q] : state.busy_queues()) {
    if (Lacks(state, *q)) lack.insert(number);
  }
  const auto share = [&](const Queue& q, double ratio) {
    double most = lack.count(q.number) != 0 ? total : LiveOf(q, guaranteed);
    if (q.max_share != 0) most = std::min<double>(most, q.max_share - std::min(q.max_share, guaranteed.Of(q)));
    return std::clamp(ratio * q.weight, std::min<double>(q.min_share, most), most);
  };
  double low = 0, high = 1;
  const auto sum = [&](double ratio) {
    double slots = 0;
    for (const auto& [number, q] : state.busy_queues()) slots += share(*q, ratio);
    return slots;
  };
  for (int i = 0; i < 64 && sum(high) < total && high < 1e12; ++i) high *= 2;
  for (int i = 0; i < 44; ++i) (sum((low + high) / 2) < total ? low : high) = (low + high) / 2;
  std::map<uint64_t, double> shares;
  for (const auto& [number, q] : state.busy_queues()) shares[number] = share(*q, high);
  return shares;
}

// How many slots would end this kind of want.
uint32_t Enough(const Queue& q, double share, size_t kind) {
  if (kind == 0) return q.min_share;
  return static_cast<uint32_t>(std::floor(share / 2 + kNearly));
}

}  // namespace

bool FairPreemption::AnyBelow(const State& state) const {
  const auto it = state.facts().lower_bound(FactName(policy_, "", 0, ""));
  return it != state.facts().end() && it->first.policy == policy_;
}

const FactValue* FairPreemption::Since(const State& state, const Queue& q, size_t kind) const {
  return state.FindFact({policy_, kQueueScope, q.number, kBelow[kind]});
}

void FairPreemption::NoteLaunch(const State& state, const Queue& q, Plan* plan) const {
  if (!AnyBelow(state) || (Since(state, q, 0) == nullptr && Since(state, q, 1) == nullptr)) return;
  const double share = Shares(state)[q.number];
  const uint32_t held = Held(q, UseOfGuarantees(state));
  for (const size_t kind : {0, 1}) {
    if (Since(state, q, kind) != nullptr && held + 1 >= Enough(q, share, kind)) {
      plan->Forget(kQueueScope, q.number, kBelow[kind]);
    }
  }
}

void FairPreemption::Review(const View& view, Plan* plan) const {
  const State& state = view.state();
  const std::map<uint64_t, double> shares = Shares(state);
  const GuaranteedUse guaranteed = UseOfGuarantees(state);
  for (auto it = state.facts().lower_bound({policy_, kQueueScope, 0, ""});
       it != state.facts().end() && it->first.policy == policy_ && it->first.scope == kQueueScope; ++it) {
    if (shares.count(it->first.id) == 0) plan->Forget(kQueueScope, it->first.id, it->first.name);  // it has no jobs
  }
  for (const auto& [number, queue] : state.busy_queues()) {
    const Queue& q = *queue;
    const double share = shares.at(q.number);
    for (const size_t kind : {0, 1}) {
      const FactValue* since = Since(state, q, kind);
      const bool below = Lacks(state, q) && timeouts_[kind].ns > 0 && Held(q, guaranteed) < Enough(q, share, kind) &&
                         Held(q, guaranteed) + kNearly < share;
      if (!below) {
        if (since != nullptr) plan->Forget(kQueueScope, q.number, kBelow[kind]);
        continue;
      }
      Instant from = view.now();
      if (since != nullptr) from.ns = std::get<int64_t>(*since);
      if (since != nullptr && view.now() >= from + timeouts_[kind]) {
        const double target = kind == 0 ? std::min<double>(q.min_share, share) : share;
        Preempt(state, q, static_cast<uint32_t>(target + kNearly), shares, plan);
        from = view.now();
      } else if (since != nullptr) {
        continue;
      }
      plan->Remember(kQueueScope, q.number, kBelow[kind], from.ns);
      plan->WakeAt(2 * q.number + kind, from + timeouts_[kind]);
    }
  }
  ReviewGuarantees(view, shares, plan);
}

uint32_t FairPreemption::Held(const Queue& q, const GuaranteedUse& guaranteed) const {
  const uint32_t held = greedy_ ? q.held[KindIndex(SlotKind::kMap)] : q.held_total();
  return held - std::min(held, guaranteed.Of(q));
}

// Ends attempts until q would hold `target` slots or has a slot for each of its tasks without an attempt.
void FairPreemption::Preempt(const State& state, const Queue& q, uint32_t target, const std::map<uint64_t, double>& shares,
                             Plan* plan) const {
  Wanted wanted;
  wanted.queue = &q;
  wanted.most = target - std::min(target, Held(q, UseOfGuarantees(state)));
  for (const auto& jobs : q.ready) {
    for (auto it = jobs.begin(); it != jobs.end() && wanted.tasks < wanted.most; ++it) {
      const Job& job = *state.FindJob((*it).job);
      if (job.share == 0) wanted.Add(job);
    }
  }
  Evict(state, wanted, shares, plan);
}

void FairPreemption::ReviewGuarantees(const View& view, const std::map<uint64_t, double>& shares, Plan* plan) const {
  const State& state = view.state();
  for (auto it = state.facts().lower_bound({policy_, kJobScope, 0, ""});
       it != state.facts().end() && it->first.policy == policy_ && it->first.scope == kJobScope; ++it) {
    const Job* job = state.FindJob(JobOfFact(it->first.id));
    if (job == nullptr || !job->running() || job->share == 0) plan->Forget(kJobScope, it->first.id, it->first.name);
  }
  if (timeouts_[2].ns <= 0) return;
  for (const auto& [due, id] : state.guaranteed()) {
    const Job& job = *state.FindJob(id);
    const uint64_t fact = FactId(id);
    const FactValue* since = state.FindFact({policy_, kJobScope, fact, kBelowGuarantee});
    Wanted wanted;
    if (BelowGuarantee(job)) wanted.Add(job);
    wanted.most = job.share - std::min(job.share, job.holding);
    if (const uint32_t most = job.in_queue->max_share; most != 0) {
      wanted.most = std::min(wanted.most, most - std::min(most, job.in_queue->held_total()));
    }
    if (wanted.tasks == 0 || wanted.most == 0) {
      if (since != nullptr) plan->ForgetAll(kJobScope, fact);
      continue;
    }
    Instant from = view.now();
    if (since != nullptr) from.ns = std::get<int64_t>(*since);
    const auto number = [&](const char* name) {
      const FactValue* value = state.FindFact({policy_, kJobScope, fact, name});
      return value == nullptr ? int64_t{-1} : std::get<int64_t>(*value);
    };
    int64_t vain = std::max<int64_t>(0, number(kInVain));
    if (since != nullptr && view.now() < from + timeouts_[2] * (int64_t{1} << vain)) continue;
    if (since != nullptr) {
      // Slots may go to others all the same: a policy behind this one lets its tasks wait for another place or time.
      // To evict ever again would keep those from their ends, and nobody would be served.
      const int64_t held = number(kHeldThen);
      if (job.holding > held) vain = 0;
      else if (SlotsComing(state) == 0) vain = std::min(vain + 1, kMostInVain);
      plan->Remember(kJobScope, fact, kHeldThen, int64_t{job.holding});
      plan->Remember(kJobScope, fact, kInVain, vain);
      wanted.job = &job;
      Evict(state, wanted, shares, plan);
      from = view.now();
    }
    plan->Remember(kJobScope, fact, kBelowGuarantee, from.ns);
    plan->WakeAt(fact, from + timeouts_[2] * (int64_t{1} << vain));
  }
}

}  // namespace mr::sched
