#include "master/sched/policies/dolly/clone_credit.h"

#include <algorithm>

#include "master/sched/job_bins.h"
#include "master/sched/policies/common/lent_slots.h"
#include "master/sched/policies/dolly/reasons.h"

namespace mr::sched {

namespace {

constexpr char kOfBins[] = "bins";  // scope of the facts; id 0. kRecent: slot time of the last phases, in seconds
constexpr char kCredit[] = "credit", kRecent[] = "recent";

double IdleShare(const State& state) {
  const uint32_t all = state.slots().total;
  return all == 0 ? 0 : 1 - std::min(1.0, static_cast<double>(HeldSlots(state)) / all);
}

}  // namespace

double RealOf(const View& view, const char* scope, uint64_t id, const char* name) {
  const FactValue* fact = view.FindFact(scope, id, name);
  return fact == nullptr ? 0 : std::get<double>(*fact);
}

SlotTime SlotTimeOf(const Stage& stage, Cause cause, Instant now) {
  SlotTime time;
  for (const Task& task : stage.tasks) {
    for (const Attempt& a : task.attempts) {
      const double held = ((a.ended_at.ns == 0 ? now : a.ended_at) - a.launched_at).seconds();
      time.all += held;
      if (a.cause == cause) time.of_cause += held;
    }
  }
  return time;
}

std::optional<Reason> CloneCredit::WhyNot(const View& view, size_t tasks) const {
  if (share_ <= 0) return std::nullopt;
  const double credit = RealOf(view, kOfBins, 0, kCredit);
  const double kept = share_ * RealOf(view, kOfBins, 0, kRecent) * (BinOfTasks(tasks) - 1) / kBins;
  if (credit > kept) return std::nullopt;
  return Reason{DollyReason::kShareSpent, "", {share_ * 100, credit, kept}};
}

void CloneCredit::Learn(const View& view, const std::vector<JobId>& jobs, Plan* plan) const {
  if (share_ <= 0) return;
  double credit = RealOf(view, kOfBins, 0, kCredit), recent = RealOf(view, kOfBins, 0, kRecent);
  const double idle = IdleShare(view.state());
  for (const JobId id : jobs) {
    const Job* job = view.state().FindJob(id);
    if (job == nullptr || !view.Serves(*job)) continue;
    for (const Stage& stage : job->stages) {
      const SlotTime time = SlotTimeOf(stage, cause_, view.now());
      recent = kEarlierPhases * recent + time.all;
      credit = std::min(credit + share_ * idle * time.all - time.of_cause, share_ * recent);
    }
  }
  plan->Remember(kOfBins, 0, kCredit, credit);
  plan->Remember(kOfBins, 0, kRecent, recent);
}

}  // namespace mr::sched
