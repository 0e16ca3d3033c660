#include "master/sched/policies/baselines/fair_preemption.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <vector>

#include "master/sched/policies/baselines/evict.h"

namespace mr::sched {

namespace {

constexpr char kQueueScope[] = "queue";
constexpr const char* kBelow[] = {"below_min_since", "below_share_since"};
constexpr double kNearly = 1e-6;  // shares come from a bisection

// Returns whether a task of the queue has its inputs and no attempt, so that more slots would be of use. A task that
// only wants clones causes no preemption.
bool Lacks(const State& state, const Queue& q) {
  const auto waits = [&](const JobRank& rank) {
    const Job& job = *state.FindJob(rank.job);
    return !BelowGuarantee(job) && std::any_of(job.stages.begin(), job.stages.end(), [](const Stage& stage) {
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

// Returns the live attempts of the queue's jobs, without guaranteed ones.
uint32_t LiveOf(const Queue& q) {
  const auto live = static_cast<uint32_t>(q.live.size());
  return live - std::min(live, q.guaranteed);
}

// Returns the shares of queues with jobs, by number, in slots outside of guarantees.
std::map<uint64_t, double> SharesOf(const State& state) {
  const double total = state.slots().total - std::min(state.slots().total, state.within_guarantees());
  std::set<uint64_t> lack;
  for (const auto& [number, q] : state.busy_queues()) {
    if (Lacks(state, *q)) lack.insert(number);
  }
  const auto share = [&](const Queue& q, double ratio) {
    double most = lack.count(q.number) != 0 ? total : LiveOf(q);
    if (q.max_share != 0) most = std::min<double>(most, q.max_share - std::min(q.max_share, q.guaranteed));
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

// Returns the fewest slots with which the queue is no longer below this kind of share.
uint32_t Enough(const Queue& q, double share, size_t kind) {
  if (kind == 0) return q.min_share;
  return static_cast<uint32_t>(std::floor(share / 2 + kNearly));
}

}  // namespace

const std::map<uint64_t, double>& FairPreemption::Shares(const State& state) const {
  if (folds_ != state.folds()) shares_ = SharesOf(state);
  folds_ = state.folds();
  return shares_;
}

bool FairPreemption::AnyBelow(const State& state) const {
  const auto it = state.facts().lower_bound(FactName(policy_, "", 0, ""));
  return it != state.facts().end() && it->first.policy == policy_;
}

const FactValue* FairPreemption::Since(const State& state, const Queue& q, size_t kind) const {
  return state.FindFact({policy_, kQueueScope, q.number, kBelow[kind]});
}

void FairPreemption::NoteLaunch(const State& state, const Queue& q, Plan* plan) const {
  if (!AnyBelow(state) || (Since(state, q, 0) == nullptr && Since(state, q, 1) == nullptr)) return;
  const double share = Shares(state).at(q.number);
  const uint32_t held = Held(q);
  for (const size_t kind : {0, 1}) {
    if (Since(state, q, kind) != nullptr && held + 1 >= Enough(q, share, kind)) {
      plan->Forget(kQueueScope, q.number, kBelow[kind]);
    }
  }
}

void FairPreemption::Review(const View& view, bool before_offers, Plan* plan) const {
  const State& state = view.state();
  const std::map<uint64_t, double>& shares = Shares(state);
  for (auto it = state.facts().lower_bound({policy_, kQueueScope, 0, ""});
       it != state.facts().end() && it->first.policy == policy_ && it->first.scope == kQueueScope; ++it) {
    if (shares.count(it->first.id) == 0) plan->Forget(kQueueScope, it->first.id, it->first.name);  // it has no jobs
  }
  for (const auto& [number, queue] : state.busy_queues()) {
    const Queue& q = *queue;
    const double share = shares.at(q.number);
    for (const size_t kind : {0, 1}) {
      const FactValue* since = Since(state, q, kind);
      const bool below =
          Lacks(state, q) && timeouts_[kind].ns > 0 && Held(q) < Enough(q, share, kind) && Held(q) + kNearly < share;
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
  guarantees_.Review(view, shares, before_offers, plan);
}

uint32_t FairPreemption::Held(const Queue& q) const {
  const uint32_t held = greedy_ ? q.held[KindIndex(SlotKind::kMap)] : q.held_total();
  return held - std::min(held, q.guaranteed);
}

// Ends attempts until q would hold `target` slots or has a slot for each of its tasks without an attempt.
void FairPreemption::Preempt(const State& state, const Queue& q, uint32_t target,
                             const std::map<uint64_t, double>& shares, Plan* plan) const {
  Wanted wanted;
  wanted.queue = &q;
  wanted.most = target - std::min(target, Held(q));
  for (const auto& jobs : q.ready) {
    for (auto it = jobs.begin(); it != jobs.end() && wanted.tasks < wanted.most; ++it) {
      const Job& job = *state.FindJob((*it).job);
      if (!BelowGuarantee(job)) wanted.Add(job);
    }
  }
  Evict(state, wanted, shares, plan);
}

}  // namespace mr::sched
