#include "master/sched/policies/dolly/clone_credit.h"

#include <algorithm>
#include <map>
#include <string>

#include "master/sched/job_bins.h"
#include "master/sched/policies/common/lent_slots.h"
#include "master/sched/policies/common/task_end.h"
#include "master/sched/policies/dolly/dolly_facts.h"
#include "master/sched/policies/dolly/reasons.h"

namespace mr::sched {

namespace {

// Scope of the facts; id 0: of all bins, else the bin. kRecent: slot time of the last phases, in seconds.
constexpr char kOfBins[] = "bins";
constexpr char kCredit[] = "credit", kRecent[] = "recent", kAttempts[] = "attempts";
// Weight of the earlier phases in the largest credit, when another one ends: some two hundred count, of all sizes. With
// twenty, a few small phases in a row left less credit than one phase of ten tasks takes.
constexpr double kCreditPhases = .995;
// Per phase, seconds.
std::string Foreseen(uint32_t stage) { return "foreseen/" + std::to_string(stage); }

double IdleShare(const State& state) {
  const uint32_t all = state.slots().total;
  return all == 0 ? 0 : 1 - std::min(1.0, static_cast<double>(HeldSlots(state)) / all);
}

}  // namespace

SlotTime SlotTimeOf(const Stage& stage, Cause cause, Instant now) {
  SlotTime time;
  for (const Task& task : stage.tasks) {
    for (const Attempt& a : task.attempts) {
      const double held = (EndedAt(a, now) - a.launched_at).seconds();
      time.all += held;
      time.attempts += a.started_at.ns != 0;
      if (a.cause == cause) time.of_cause += held;
    }
  }
  return time;
}

std::optional<Reason> CloneCredit::WhyNot(const View& view, size_t tasks, size_t clones) const {
  if (share_ <= 0) return std::nullopt;
  const double credit = view.Real(kOfBins, 0, kCredit), foreseen = SecondsOf(view, tasks, clones);
  const double kept = share_ * view.Real(kOfBins, 0, kRecent) * (BinOfTasks(tasks) - 1) / kBins;
  if (credit - foreseen > kept) return std::nullopt;
  return Reason{DollyReason::kShareSpent, "", {share_ * 100, credit, kept + foreseen}};
}

double CloneCredit::SecondsOf(const View& view, size_t tasks, size_t clones) {
  for (const uint32_t bin : {BinOfTasks(tasks), 0u}) {  // else by those of all bins
    const double attempts = view.Real(kOfBins, bin, kAttempts);
    if (attempts > 0) return static_cast<double>(clones) * view.Real(kOfBins, bin, kRecent) / attempts;
  }
  return 0;
}

void CloneCredit::Take(const View& view, const StageId& id, size_t tasks, size_t clones, Plan* plan) const {
  const double seconds = share_ > 0 ? SecondsOf(view, tasks, clones) : 0;
  if (seconds <= 0) return;
  plan->Remember(kOfJob, FactId(id.job), Foreseen(id.stage), seconds);
  plan->Remember(kOfBins, 0, kCredit, view.Real(kOfBins, 0, kCredit) - seconds);
}

void CloneCredit::GiveBack(const View& view, Plan* plan) {
  const std::string owner = view.owner(), prefix = Foreseen(0).substr(0, Foreseen(0).size() - 1);
  const auto& facts = view.state().facts();
  double seconds = 0;
  for (auto it = facts.lower_bound({owner, kOfJob, 0, ""}); it != facts.end(); ++it) {
    if (it->first.policy != owner || it->first.scope != kOfJob) break;
    if (it->first.name.starts_with(prefix)) seconds += std::get<double>(it->second);
  }
  if (seconds > 0) plan->Remember(kOfBins, 0, kCredit, view.Real(kOfBins, 0, kCredit) + seconds);
}

void CloneCredit::Learn(const View& view, const std::vector<JobId>& jobs, Plan* plan) const {
  if (share_ <= 0) return;
  struct Sum {
    double seconds = 0, attempts = 0;
  };
  std::map<uint32_t, Sum> bins;
  double credit = view.Real(kOfBins, 0, kCredit);
  Sum all{view.Real(kOfBins, 0, kRecent), view.Real(kOfBins, 0, kAttempts)};
  const double idle = std::max(least_idle_, IdleShare(view.state()));
  for (const JobId id : jobs) {
    const Job* job = view.state().FindJob(id);
    if (job == nullptr || !view.Serves(*job)) continue;
    for (uint32_t s = 0; s < job->stages.size(); ++s) {
      const Stage& stage = job->stages[s];
      const SlotTime time = SlotTimeOf(stage, cause_, view.now());
      const double foreseen = view.Real(kOfJob, FactId(id), Foreseen(s));
      if (time.attempts == 0 && foreseen == 0) continue;  // it never ran
      all = {kCreditPhases * all.seconds + time.all, kCreditPhases * all.attempts + time.attempts};
      const double largest = share_ * all.seconds;
      credit = std::clamp(credit + share_ * idle * time.all + foreseen - time.of_cause, -largest, largest);
      const uint32_t bin = BinOfTasks(stage.tasks.size());
      const Sum before{view.Real(kOfBins, bin, kRecent), view.Real(kOfBins, bin, kAttempts)};
      Sum& sum = bins.try_emplace(bin, before).first->second;
      sum = {kEarlierPhases * sum.seconds + time.all, kEarlierPhases * sum.attempts + time.attempts};
    }
  }
  plan->Remember(kOfBins, 0, kCredit, credit);
  plan->Remember(kOfBins, 0, kRecent, all.seconds);
  plan->Remember(kOfBins, 0, kAttempts, all.attempts);
  for (const auto& [bin, sum] : bins) {
    plan->Remember(kOfBins, bin, kRecent, sum.seconds);
    plan->Remember(kOfBins, bin, kAttempts, sum.attempts);
  }
}

}  // namespace mr::sched
