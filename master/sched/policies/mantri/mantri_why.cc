#include "master/sched/policies/mantri/mantri_why.h"
#include "master/sched/policies/mantri/reasons.h"

namespace mr::sched {

namespace {

// Returns whether a task of this kind waits for a slot: then another rule holds.
bool TasksWait(const View& view, SlotKind kind) { return !view.state().ready(kind).empty(); }

}  // namespace

Reason WhyLeftAlone(const MantriRules& rules, const View& view, const AttemptId& id) {
  const State& state = view.state();
  const StageId stage = id.task.stage_id();
  const StageSpec& spec = state.Spec(stage);
  const Task& task = *state.FindTask(id.task);
  if (spec.side_effects) return {ReasonCode::kSideEffects, "", {}};
  if (state.Waiting(id)) return {ReasonCode::kWaitsForInputs, "", {}};
  if (const auto why = WhyNotInStage(rules, view, stage)) return *why;
  if (ReadsUnseen(rules, view, id.task, nullptr)) return {ReasonCode::kUnseenNetwork, "", {}};
  const uint32_t live = OwnLive(task);
  if (live >= kMostRunning) return {MantriReason::kEnoughAttempts, "", {static_cast<double>(live)}};
  const StageStatistics& s = state.Counted(stage);
  const NewAttempt fresh(s, rules.running);
  const double told = static_cast<double>(rules.running ? s.told.size() : s.costs.size());
  if (!fresh.known()) return {MantriReason::kFewTold, "", {told, double{NewAttempt::kLeast}}};
  const Attempt& a = *state.FindAttempt(id);
  const Standing standing = StandingOf(task, a);
  const double age = (view.now() - standing.started).seconds();
  const auto left = SecondsLeft(rules, fresh, standing, view.now());
  if (!left || (fresh.early() && standing.pace->from_start)) return {MantriReason::kNoEstimate, "", {age}};
  const double delta = ReportPeriod(rules, fresh, standing.bytes), least = std::max(delta, rules.min_age);
  if (age < least) return {ReasonCode::kTooYoung, "", {age, least}};
  const bool wait = TasksWait(view, spec.slot_kind);
  if (JudgeTask(rules, view, id.task, nullptr, fresh, 1, wait, true)) {
    return {MantriReason::kPays, "", {*left, fresh.Expected(standing.bytes, 1)}};
  }
  const double anew = fresh.Expected(standing.bytes, 1), c = live;
  if (!wait) return {MantriReason::kSavesLittle, "", {*left, anew, rules.rho * delta}};
  MantriRules elsewhere = rules;
  elsewhere.own_slot = false;
  if (rules.own_slot && JudgeTask(elsewhere, view, id.task, nullptr, fresh, 1, wait, true)) {
    const double there = fresh.Expected(standing.bytes, SlownessOfSlots(rules, view, id.task, fresh));
    return {MantriReason::kSlowSlot, "", {*left, anew, there}};
  }
  const double chance = fresh.ChanceBelow(*left * c / (c + 1), standing.bytes, 1);
  return {MantriReason::kSavesLittleNow, "", {*left, anew, delta, chance * 100, rules.delta * 100, rules.margin}};
}

}  // namespace mr::sched
