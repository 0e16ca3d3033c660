// The part of fair (fair.h) that takes slots away for jobs below their guarantee (guarantees.h): since when each of
// them is, and whose attempts end for it once that has lasted. Evictions that bring a job nothing come ever more
// seldom:
//   wait = timeout * 2^v,  v: how often in a row it held no more at the next one, though nothing was on its way (<= 10)
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "master/sched/view.h"

namespace mr::sched {

class Plan;

class GuaranteePreemption {
 public:
  // policy: whose facts these are. timeout: 0 = never.
  GuaranteePreemption(std::string policy, Duration timeout) : policy_(std::move(policy)), timeout_(timeout) {}

  // Notes who is below, and evicts for those that were for too long. shares: of queues (fair_preemption.h).
  // before_offers: who has come to be below gets a slot in this step, as likely as not, and is not noted. Cost: jobs
  // that want slots (State::wanting), or did at the last review.
  void Review(const View& view, const std::map<uint64_t, double>& shares, bool before_offers, Plan* plan) const;

 private:
  void ReviewJob(const Job& job, const View& view, const std::map<uint64_t, double>& shares, bool before_offers,
                 Plan* plan) const;
  // Null where it is not remembered.
  const FactValue* Find(const State& state, uint64_t job, const char* name) const;

  const std::string policy_;
  const Duration timeout_;
};

}  // namespace mr::sched
