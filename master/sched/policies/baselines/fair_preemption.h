// Preemption of fair (fair.h) for queues. It computes each queue's share, notes since when a queue is below it, and
// ends attempts for it once that has lasted. For jobs below their guarantee: guarantee_preemption.h.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "master/sched/plan.h"
#include "master/sched/policies/baselines/guarantee_preemption.h"

namespace mr::sched {

class FairPreemption {
 public:
  // policy: owner of the facts. greedy: see fair.h. timeouts: for a queue below its min share, below half of its share,
  // for a job below its guarantee; 0 = never.
  FairPreemption(std::string policy, bool greedy, std::array<Duration, 3> timeouts)
      : policy_(policy), greedy_(greedy), timeouts_(timeouts), guarantees_(std::move(policy), timeouts[2]) {}

  // Returns whether some queue below its share, or some job below its guarantee, waits.
  bool AnyBelow(const State& state) const;
  // Returns whether attempts were evicted for a job that is still below its guarantee.
  bool EvictedForGuarantee(const State& state) const { return guarantees_.AnyEvicted(state); }
  // Restarts the wait of a queue that this launch brings to its share, even for a moment.
  void NoteLaunch(const State& state, const Queue& queue, Plan* plan) const;
  // Notes queues and jobs that are below, and preempts for those below for too long. before_offers: slots that fell
  // free in this step have not been offered yet.
  void Review(const View& view, bool before_offers, Plan* plan) const;

 private:
  // Returns the shares by queue number, of queues with jobs. Cached until something is folded in: each repetition of an
  // offer without some jobs reads them.
  const std::map<uint64_t, double>& Shares(const State& state) const;
  // Returns the slots that jobs of the queue hold outside of guarantees.
  uint32_t Held(const Queue& q) const;
  const FactValue* Since(const State& state, const Queue& q, size_t kind) const;
  void Preempt(const State& state, const Queue& q, uint32_t target, const std::map<uint64_t, double>& shares,
               Plan* plan) const;

  const std::string policy_;
  const bool greedy_;
  const std::array<Duration, 3> timeouts_;
  const GuaranteePreemption guarantees_;
  mutable uint64_t folds_ = ~uint64_t{0};
  mutable std::map<uint64_t, double> shares_;
};

}  // namespace mr::sched
