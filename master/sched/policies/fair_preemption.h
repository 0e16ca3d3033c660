// The part of fair (fair.h) that takes slots away for queues: what each queue's share is, since when a queue is below
// it, and whose attempts end for it once that has lasted. For jobs below their guarantee: guarantee_preemption.h.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "master/sched/plan.h"
#include "master/sched/policies/guarantee_preemption.h"

namespace mr::sched {

class FairPreemption {
 public:
  // policy: whose facts these are. greedy: see fair.h. timeouts: below the min share, below half of the share, of a job
  // below its guarantee; 0 = never.
  FairPreemption(std::string policy, bool greedy, std::array<Duration, 3> timeouts)
      : policy_(policy), greedy_(greedy), timeouts_(timeouts), guarantees_(std::move(policy), timeouts[2]) {}

  // Some queue is below its share, or some job below its guarantee, and waits.
  bool AnyBelow(const State& state) const;
  // A queue that comes to its share, be it for a moment, waits anew.
  void NoteLaunch(const State& state, const Queue& queue, Plan* plan) const;
  // Notes who is below, and preempts for those that were for too long. before_offers: slots that fell free in this step
  // have not been offered yet.
  void Review(const View& view, bool before_offers, Plan* plan) const;

 private:
  // Of queues with jobs, by number. Kept until something is folded in: an offer that is made again for other jobs,
  // since some were passed over, asks each time.
  const std::map<uint64_t, double>& Shares(const State& state) const;
  // By jobs without a guarantee.
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
