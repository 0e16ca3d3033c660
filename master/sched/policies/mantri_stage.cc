#include "master/sched/policies/mantri_stage.h"

#include <algorithm>

namespace mr::sched {

const MantriStage& MantriStages::Look(const State& state, const StageId& id, size_t depth) {
  const Stage& stage = *state.FindStage(id);
  const StageStatistics& s = state.Counted(id);
  const auto [it, added] = stages_.try_emplace(id);
  MantriStage& seen = it->second;
  if (!added && seen.changes == s.changes && seen.depth >= depth) return seen;
  seen.changes = s.changes;
  seen.depth = depth;
  seen.fresh = NewAttempt(s, rules_.running);
  seen.usual = {s.measured == 0 ? 0 : s.measured_work / s.measured};
  seen.dearest.clear();
  seen.earliest.clear();
  if (!seen.fresh.known()) return seen;
  size_t rank = 0;
  const auto add = [&](double cost, AttemptKey key, std::vector<MantriCandidate>* to) {
    state.Look();
    const size_t place = rank++;
    const Task& task = stage.tasks[key.first];
    const auto a = std::find_if(task.attempts.rbegin(), task.attempts.rend(),
                                [&](const Attempt& one) { return one.number == key.second; });
    const Standing standing = StandingOf(task, *a);
    // Nothing is said of those: see JudgeTask.
    if (standing.pace ? seen.fresh.early() && standing.pace->from_start : !standing.since) return;
    to->push_back({key.first, place, cost, a->started_at, standing, ReportPeriod(rules_, seen.fresh, standing.bytes)});
  };
  s.by_cost.Walk(depth, [&](const auto& entry) {
    add(-entry.first, entry.second, &seen.dearest);
    return true;
  });
  s.by_start.Walk(MantriStage::kEarliest, [&](const auto& entry) {
    add(0, entry.second, &seen.earliest);
    return true;
  });
  return seen;
}

void MantriStages::Forget(JobId job) {
  stages_.erase(stages_.lower_bound({job, 0}), stages_.upper_bound({job, ~uint32_t{0}}));
}

}  // namespace mr::sched
