#include "master/sched/policies/late/speculation_worth.h"

#include <algorithm>

#include "master/sched/job_profile.h"
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

// The task's speculative attempts of the generation that committed.
struct Speculative {
  double held = 0, longest = 0;  // slot time in seconds
  Instant since = {INT64_MAX};   // launch of the first one
};

Speculative SpeculativeOf(const Task& task, uint32_t generation, Instant now) {
  Speculative all;
  for (const Attempt& a : task.attempts) {
    if (a.cause != Cause::kSpeculative || a.generation != generation) continue;
    const double held = (EndedAt(a, now) - a.launched_at).seconds();
    all.held += held;
    all.longest = std::max(all.longest, held);
    all.since = std::min(all.since, a.launched_at);
  }
  return all;
}

SpeculationTime TimeOfTask(const Task& task, Instant now) {
  const Attempt* const winner = Winner(task);
  if (winner == nullptr) return {};
  const Speculative all = SpeculativeOf(task, winner->generation, now);
  if (all.held <= 0) return {};
  const TaskEnd end = *EndWithout(task, Cause::kSpeculative, now);
  const bool won = winner->cause == Cause::kSpeculative;
  if (won && (end.own == winner || ScoreOf(*end.own) == kWholeScore)) return {};
  const Instant since = won ? winner->launched_at : all.since;
  if (end.own->samples.empty() || end.own->samples.back().at <= since) return {};
  const double unit = std::max(all.longest, (winner->ended_at - WorkBegan(*winner)).seconds());
  return {std::min(kMostSaved, (end.alone - end.ended).seconds() / unit), all.held / unit};
}

}  // namespace

SpeculationTime SpeculationTimeOf(const Stage& stage, Instant now) {
  SpeculationTime sum;
  for (const Task& task : stage.tasks) {
    const SpeculationTime time = TimeOfTask(task, now);
    sum.saved += time.saved;
    sum.spent += time.spent;
  }
  return sum;
}

double SpeculationWorth::Asked(const View& view) const {
  if (least_ <= 0) return 1;
  const double saved = view.Real(kAll, 0, kSaved), spent = view.Real(kAll, 0, kSpent);
  const double enough = least_ * (spent + kBefore), had = saved + least_ * kBefore;
  return std::clamp(enough / had, 1.0, kMostAsked);
}

void SpeculationWorth::Learn(const View& view, const std::vector<JobId>& jobs,
                             const std::function<bool(const Job&, uint32_t stage)>& counts, Plan* plan) const {
  if (least_ <= 0) return;
  const SpeculationTime before{view.Real(kAll, 0, kSaved), view.Real(kAll, 0, kSpent)};
  SpeculationTime sum = before;
  for (const JobId id : jobs) {
    const Job* job = view.state().FindJob(id);
    if (job == nullptr || !view.Serves(*job)) continue;
    const bool any = job->causes[CauseIndex(Cause::kSpeculative)].launched > 0;
    for (uint32_t s = 0; s < job->stages.size(); ++s) {
      if (job->stages[s].tasks.empty() || !counts(*job, s)) continue;
      const SpeculationTime more = any ? SpeculationTimeOf(job->stages[s], view.now()) : SpeculationTime();
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
