#include "master/sched/policies/mantri/mantri_rules.h"
#include "master/sched/policies/mantri/reasons.h"

#include <algorithm>
#include <limits>

namespace mr::sched {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// Report periods after which an attempt without two reports counts as stuck: one more than these take.
constexpr double kUntold = 3;

// Share of its input that an attempt has read before its pace counts, unless it has run for as long as a new one takes.
// With .1, noise in reports restarted tasks of 3 s in vain: jobs of 151 to 500 took 1.05 of LATE's time, and 1.04 with
// .25 (20 seeds). In cells with stragglers both are equal.
constexpr double kPaceFrom = .25;

double AgeOf(const Attempt& a, Instant now) {
  return a.state == AttemptState::kRunning ? (now - a.started_at).seconds() : 0;
}

// Returns the t_rem above which an idle slot may get another attempt of a task with this input. This is the least
// threshold of any worker: location 0 stands for one that reads in no time.
double LeastLeft(const MantriRules& rules, const NewAttempt& fresh, double bytes) {
  return fresh.Expected(bytes, 0) + rules.rho * ReportPeriod(rules, fresh, bytes);
}

}  // namespace

std::optional<double> SecondsLeft(const MantriRules& rules, const NewAttempt& fresh, const Standing& standing,
                                  Instant now) {
  const std::optional<double> left = fresh.Left(standing, now);
  if (!rules.hopeful || !left || standing.since || !standing.pace) return left;
  const Pace& pace = *standing.pace;
  if (now - pace.at > std::max(kReportPeriod, pace.longest_gap)) return left;  // it may hang
  const double age = (now - standing.started).seconds();
  const auto taken = static_cast<double>(pace.taken), rest = static_cast<double>(pace.left);
  if (taken < kPaceFrom * (taken + rest) && age < fresh.Expected(standing.bytes, 1)) return std::nullopt;
  return std::min(*left, age * rest / taken + fresh.wrapup());
}

double ReportPeriod(const MantriRules& rules, const NewAttempt& fresh, double bytes) {
  return std::min(rules.report, fresh.Expected(bytes, 1) / 10);
}

std::optional<Reason> WhyNotInStage(const MantriRules& rules, const View& view, const StageId& id) {
  if (auto why = rules.network.WhyNotAny(view)) return why;
  return WhyNotCopies(rules, view, id);
}

std::optional<Reason> WhyNotCopies(const MantriRules& rules, const View& view, const StageId& id) {
  const Job& job = *view.state().FindJob(id.job);
  if (auto why = rules.network.WhyNotCopy(view, job, id.stage)) return why;
  if (!rules.network.KnowsCopies(view, job, id.stage)) return Reason{ReasonCode::kUnseenNetwork, "", {}};
  return std::nullopt;
}

bool ReadsUnseen(const MantriRules& rules, const View& view, const TaskId& id, const Worker* worker) {
  const Task& task = *view.state().FindTask(id);
  if (task.plan.preferred.empty() || rules.network.KnowsReads(view)) return false;
  if (std::any_of(task.attempts.begin(), task.attempts.end(),
                  [&](const Attempt& a) { return a.live() && ReadsElsewhere(task, a.worker); })) {
    return true;
  }
  if (worker != nullptr) return ReadsElsewhere(task, worker->id);
  const auto& free = view.state().free(view.state().Spec(id.stage_id()).slot_kind);
  return std::none_of(task.plan.preferred.begin(), task.plan.preferred.end(), [&](WorkerId at) {
    return free.count(at) > 0 &&
           std::none_of(task.attempts.begin(), task.attempts.end(), [at](const Attempt& a) { return a.worker == at; });
  });
}

double SlownessOfSlots(const MantriRules& rules, const View& view, const TaskId& id, const NewAttempt& fresh) {
  double slowness = 1;
  if (!rules.own_slot) return slowness;
  const State& state = view.state();
  const Task& task = *state.FindTask(id);
  for (const Attempt& a : task.attempts) {
    if (!a.live() || CanDoWithout(task, a)) continue;
    const AttemptId attempt{id, a.number};
    slowness = std::max(slowness, LocationFactor(state, id.stage_id(), a.worker, fresh.mean(), &attempt));
  }
  return slowness;
}

std::optional<MantriAct> JudgeTask(const MantriRules& rules, const View& view, const TaskId& id, const Worker* worker,
                                   const NewAttempt& fresh, double location, bool waiting, bool speculate) {
  const Task& task = *view.state().FindTask(id);
  const uint32_t own = OwnLive(task);  // without clones on lent slots, which may end at any instant
  if (own >= kMostRunning || own == 0 || ReadsUnseen(rules, view, id, worker)) return std::nullopt;
  double left = kNever, youngest = kNever, bytes = 0, anew = 0, made = 0;
  AttemptId attempt;
  for (const Attempt& a : task.attempts) {
    if (worker != nullptr && a.worker == worker->id) return std::nullopt;
    anew += a.cause == Cause::kRestart && a.generation == task.generation;
    made += a.cause == Cause::kSpeculative && a.generation == task.generation;
    if (!a.live() || CanDoWithout(task, a)) continue;
    attempt = {id, a.number};
    const Standing standing = StandingOf(task, a);
    const auto t_rem =
        a.state == AttemptState::kRunning ? SecondsLeft(rules, fresh, standing, view.now()) : std::nullopt;
    if (!t_rem || view.state().Waiting(attempt)) return std::nullopt;
    // Beside others that began a moment ago, its start-up would count as slowness.
    if (fresh.early() && standing.pace->from_start) return std::nullopt;
    left = std::min(left, *t_rem);
    youngest = std::min(youngest, AgeOf(a, view.now()));
    bytes = std::max(bytes, static_cast<double>(InputBytes(task, a)));
  }
  const double delta = ReportPeriod(rules, fresh, bytes), expected = fresh.Expected(bytes, location), c = own;
  if (youngest < std::max(delta, rules.min_age)) return std::nullopt;
  speculate = speculate && made < kMostRunning - 1 + rules.gamma;
  MantriAct act{left - expected, attempt, false, {MantriReason::kSpeculativeSooner, "", {left, expected}}};
  if (!waiting) return speculate && act.saves > rules.rho * delta ? std::optional(act) : std::nullopt;
  const bool again = own == 1 && left - rules.margin * expected > delta && anew < rules.gamma;
  const auto chance = [&](double slowness) { return fresh.ChanceBelow(left * c / (c + slowness), bytes, location); };
  if (!again && (!speculate || chance(1) <= rules.delta)) return std::nullopt;
  const double slowness = SlownessOfSlots(rules, view, id, fresh);
  if (again && (!rules.own_slot || left - rules.margin * fresh.Expected(bytes, slowness) > delta)) {
    act.anew = true;
    act.reason = {MantriReason::kRestartSooner, "", {left, expected, delta}};
    return act;
  }
  const double saves = chance(slowness);
  if (!speculate || saves <= rules.delta) return std::nullopt;
  act.reason = {MantriReason::kSpeculativeSaves, "", {left, saves * 100, c, slowness}};
  return act;
}

Instant QuietUntil(const MantriRules& rules, const NewAttempt& fresh, const Standing& standing, Instant now) {
  return fresh.NoLongerUntil(standing, LeastLeft(rules, fresh, standing.bytes), now);
}

// JudgeTask needs a t_rem of each attempt, and compares the least of them.
Instant QuietUntil(const MantriRules& rules, const View& view, const TaskId& id, const NewAttempt& fresh) {
  constexpr Instant kForever{INT64_MAX};
  const Task& task = *view.state().FindTask(id);
  double bytes = 0;
  uint32_t own = 0;
  for (const Attempt& a : task.attempts) {
    if (!a.live() || CanDoWithout(task, a)) continue;
    if (++own == kMostRunning || a.state != AttemptState::kRunning) return kForever;
    bytes = std::max(bytes, static_cast<double>(InputBytes(task, a)));
  }
  Instant until = view.now();
  for (const Attempt& a : task.attempts) {
    if (!a.live() || CanDoWithout(task, a)) continue;
    const Standing standing = StandingOf(task, a);
    // The size of its input may still come, which is no change of a rating.
    if (!standing.pace && !standing.since) return view.now();
    until = std::max(until, fresh.NoLongerUntil(standing, LeastLeft(rules, fresh, bytes), view.now()));
  }
  return until;
}

double KeepFastest(const MantriRules& rules, const View& view, const TaskId& id, const NewAttempt& fresh, Plan* plan) {
  const Task& task = *view.state().FindTask(id);
  double bytes = 0, youngest = kNever, untold = kNever;
  std::vector<std::pair<double, uint32_t>> attempts;  // seconds left, number
  for (const Attempt& a : task.attempts) {
    if (!a.live() || CanDoWithout(task, a)) continue;
    youngest = std::min(youngest, AgeOf(a, view.now()));
    bytes = std::max(bytes, static_cast<double>(InputBytes(task, a)));
    const Standing standing = StandingOf(task, a);
    if (!standing.pace || standing.pace->from_start) untold = std::min(untold, AgeOf(a, view.now()));
    attempts.emplace_back(fresh.Left(standing, view.now()).value_or(kNever), a.number);
  }
  const double delta = ReportPeriod(rules, fresh, bytes);
  if (youngest < delta) return std::max(delta - youngest, 1e-3);
  if (untold < kUntold * delta) return std::max(kUntold * delta - untold, 1e-3);
  std::sort(attempts.begin(), attempts.end());
  const size_t kept = std::min(attempts.size(), static_cast<size_t>(rules.alpha));
  for (size_t i = kept; i < attempts.size(); ++i) {
    plan->Kill({id, attempts[i].second}, {MantriReason::kSlowestAttempt, "", {attempts[i].first, rules.alpha}});
  }
  if (!rules.outpaced || kept < 2) return 0;
  const auto paced = [&](uint32_t number) {
    const auto pace = PaceOf(*view.state().FindAttempt({id, number}));
    return pace && !pace->from_start;
  };
  const auto ended = std::count_if(task.attempts.begin(), task.attempts.end(), [&](const Attempt& a) {
    return a.generation == task.generation && a.cause != Cause::kOpportunistic &&
           (a.state == AttemptState::kKilled || a.state == AttemptState::kEnding);
  });
  if (static_cast<double>(ended) >= rules.gamma) return 0;
  const auto& [left, number] = attempts[kept - 1];
  if (left - attempts[0].first <= rules.rho * delta || !paced(number) || !paced(attempts[0].second)) return 0;
  plan->Kill({id, number}, {MantriReason::kSlowestAttempt, "", {left, static_cast<double>(kept - 1)}});
  return 0;
}

}  // namespace mr::sched
