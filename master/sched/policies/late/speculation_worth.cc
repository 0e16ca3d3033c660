#include "master/sched/policies/late/speculation_worth.h"

#include <algorithm>

#include "master/sched/policies/common/task_end.h"
#include "master/sched/policies/common/work_seconds.h"

namespace mr::sched {

namespace {

constexpr char kAll[] = "speculation", kSaved[] = "saved", kSpent[] = "spent";  // scope and names of the facts
// Guesses: one attempt that hung says no more than one that was four times as slow; with this gain asked, only such
// attempts are speculated on.
constexpr double kMostSaved = 3, kMostAsked = 4;
// Time of speculative attempts that is taken to have paid just enough, so that a few in vain say little. A guess.
constexpr double kBefore = 5;
// Weights of what earlier phases say when another one ends, with and without speculative attempts: some twenty of the
// former count. What is known fades, since where much gain is asked nothing new is learned. Guesses.
constexpr double kEarlier = .95, kFades = .995;
constexpr double kForgotten = .01;

// Returns whether the attempts that the committed one overtook had reported nothing for as long as it took.
bool FellSilent(const Task& task, const Attempt& winner, Duration took) {
  if (winner.cause != Cause::kSpeculative) return false;
  return std::all_of(task.attempts.begin(), task.attempts.end(), [&](const Attempt& a) {
    if (a.cause == Cause::kSpeculative || a.started_at.ns == 0) return true;
    return winner.ended_at - (a.samples.empty() ? a.started_at : a.samples.back().at) >= took;
  });
}

}  // namespace

SpeculationTime SpeculationTimeOf(const Stage& stage, Instant now) {
  SpeculationTime sum;
  for (const Task& task : stage.tasks) {
    double held = 0;
    const Attempt* winner = nullptr;
    for (const Attempt& a : task.attempts) {
      if (a.cause == Cause::kSpeculative) held += (EndedAt(a, now) - a.launched_at).seconds();
      if (a.state == AttemptState::kCommitted) winner = &a;
    }
    const auto end = held > 0 ? EndWithout(task, Cause::kSpeculative, now) : std::nullopt;
    if (!end) continue;
    const Duration took = winner->ended_at - WorkBegan(*winner);
    if (took.ns <= 0 || FellSilent(task, *winner, took)) continue;
    sum.saved += std::min(kMostSaved, (end->alone - end->ended).seconds() / took.seconds());
    sum.spent += held / took.seconds();
  }
  return sum;
}

double SpeculationWorth::Asked(const View& view) const {
  if (least_ <= 0) return 1;
  const double saved = view.Real(kAll, 0, kSaved), spent = view.Real(kAll, 0, kSpent);
  const double enough = least_ * (spent + kBefore), had = saved + least_ * kBefore;
  return std::clamp(enough / had, 1.0, kMostAsked);
}

void SpeculationWorth::Learn(const View& view, const std::vector<JobId>& jobs, Plan* plan) const {
  if (least_ <= 0) return;
  const SpeculationTime before{view.Real(kAll, 0, kSaved), view.Real(kAll, 0, kSpent)};
  SpeculationTime sum = before;
  for (const JobId id : jobs) {
    const Job* job = view.state().FindJob(id);
    if (job == nullptr || !view.Serves(*job)) continue;
    for (const Stage& stage : job->stages) {
      if (stage.tasks.empty()) continue;
      const SpeculationTime more = SpeculationTimeOf(stage, view.now());
      const double weight = more.spent > 0 ? kEarlier : kFades;
      sum = {weight * sum.saved + more.saved, weight * sum.spent + more.spent};
    }
  }
  if (sum.spent < kForgotten) sum = {};
  if (sum.spent == before.spent && sum.saved == before.saved) return;
  plan->Remember(kAll, 0, kSaved, sum.saved);
  plan->Remember(kAll, 0, kSpent, sum.spent);
}

}  // namespace mr::sched
