// Preemption of fair (fair.h) for jobs below their guarantee (guarantees.h). It notes since when each is below, and
// ends attempts for it once that has lasted. Evictions that gain a job nothing become ever rarer:
//   wait = min(timeout * 2^v, 900 s),  v: how often in a row it held no more at the next one, though nothing was on its
//   way (<= 10)
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "master/sched/view.h"

namespace mr::sched {

class Plan;

class GuaranteePreemption {
 public:
  // policy: owner of the facts. timeout: 0 = never.
  GuaranteePreemption(std::string policy, Duration timeout) : policy_(std::move(policy)), timeout_(timeout) {}

  // Notes jobs that are below, and evicts for those below for too long. shares: of queues (fair_preemption.h).
  // before_offers: only forgets those that are no longer below, since others may get slots in this step; those below
  // for too long have a timer. Cost: jobs that want slots (State::wanting), or did at the last review.
  void Review(const View& view, const std::map<uint64_t, double>& shares, bool before_offers, Plan* plan) const;

  // Returns whether attempts were evicted for a job that still wants slots. Cost: jobs that want slots.
  bool AnyEvicted(const State& state) const;

 private:
  void ReviewJob(const Job& job, const View& view, const std::map<uint64_t, double>& shares, Plan* plan) const;
  // Returns null if there is no such fact.
  const FactValue* Find(const State& state, uint64_t job, const char* name) const;

  const std::string policy_;
  const Duration timeout_;
};

}  // namespace mr::sched
