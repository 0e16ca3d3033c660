#include "master/sched/policies/dolly/straggler_chance.h"

#include <algorithm>

#include "master/sched/policies/common/work_seconds.h"
#include "master/sched/policies/dolly/dolly_facts.h"

namespace mr::sched {

namespace {

constexpr char kSlow[] = "slow", kSeen[] = "seen", kSlowBefore[] = "slow_before", kSeenBefore[] = "seen_before",
               kSince[] = "since";
// Attempts that weigh as much as the prior. A guess: five jobs of ten.
constexpr double kPriorAttempts = 50;
// Fewest committed attempts of a phase with a meaningful median. A guess.
constexpr size_t kFewestDone = 3;

}  // namespace

Stragglers CountStragglers(const Stage& stage) {
  std::vector<double> done, stopped;
  for (const Task& task : stage.tasks) {
    for (const Attempt& a : task.attempts) {
      if (a.started_at.ns == 0 || a.ended_at.ns == 0) continue;
      const double seconds = std::max(1e-9, (a.ended_at - WorkBegan(a)).seconds());
      if (a.state == AttemptState::kCommitted) {
        done.push_back(1 / seconds);
      } else if (a.state == AttemptState::kKilled && a.inputs_done) {
        // An attempt without a report of its work did less than the whole in this time.
        const std::optional<double> whole = WorkSeconds(a);
        stopped.push_back(whole ? 1 / *whole : -1 / seconds);
      }
    }
  }
  Stragglers out;
  if (done.size() < kFewestDone) return out;
  const auto middle = done.begin() + static_cast<std::ptrdiff_t>(done.size() / 2);
  std::nth_element(done.begin(), middle, done.end());
  const double limit = *middle / 2;
  for (const double rate : done) out.slow += rate < limit;
  out.all = static_cast<int64_t>(done.size());
  for (const double rate : stopped) {
    if (rate < 0 && -rate >= limit) continue;  // its rate is only an upper bound: it may be slow or not
    out.slow += std::abs(rate) < limit;
    ++out.all;
  }
  return out;
}

double StragglerChance::Of(const View& view) const {
  const auto sum = [&](const char* a, const char* b) {
    return static_cast<double>(view.Number(kOfAll, 0, a) + view.Number(kOfAll, 0, b));
  };
  const double p = (sum(kSlow, kSlowBefore) + prior * kPriorAttempts) / (sum(kSeen, kSeenBefore) + kPriorAttempts);
  return std::clamp(p, 0.001, 0.9);
}

void StragglerChance::Learn(const View& view, const std::vector<JobId>& jobs, Plan* plan) const {
  int64_t slow = view.Number(kOfAll, 0, kSlow), seen = view.Number(kOfAll, 0, kSeen);
  const int64_t seen_before = seen;
  for (const JobId id : jobs) {
    const Job* job = view.state().FindJob(id);
    if (job == nullptr || !view.Serves(*job)) continue;
    for (const Stage& stage : job->stages) {
      const Stragglers counted = CountStragglers(stage);
      slow += counted.slow;
      seen += counted.all;
    }
  }
  if (seen == seen_before) return;
  const FactValue* since = view.FindFact(kOfAll, 0, kSince);
  if (since == nullptr) {
    plan->Remember(kOfAll, 0, kSince, view.now().ns);
  } else if (view.now() - Instant{std::get<int64_t>(*since)} >= refresh) {
    plan->Remember(kOfAll, 0, kSlowBefore, slow);
    plan->Remember(kOfAll, 0, kSeenBefore, seen);
    plan->Remember(kOfAll, 0, kSince, view.now().ns);
    slow = seen = 0;
  }
  plan->Remember(kOfAll, 0, kSlow, slow);
  plan->Remember(kOfAll, 0, kSeen, seen);
}

}  // namespace mr::sched
