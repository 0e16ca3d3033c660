#include "master/sched/policies/mantri/mantri_stage.h"

#include <algorithm>
#include <limits>

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
    // JudgeTask does not judge these.
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

std::vector<MantriIdle>& MantriStages::Idle(const View& view, SlotKind kind) {
  const State& state = view.state();
  std::vector<MantriIdle>& stages = idle_[KindIndex(kind)];
  if (round_[KindIndex(kind)] == state.idle_rounds()) return stages;
  round_[KindIndex(kind)] = state.idle_rounds();
  stages.clear();
  for (const StageKey& key : view.speculable(kind)) {
    const Job* job = state.FindJob(key.stage.job);
    stages.push_back({key, job, &job->stages[key.stage.stage]});
  }
  return stages;
}

bool MantriStages::Refresh(const View& view, size_t depth, MantriIdle* idle) {
  const StageStatistics& s = idle->stage->statistics;
  if (!s.speculable()) return false;
  if (idle->looked && idle->changes == s.changes && idle->edits == idle->stage->edits) return true;
  // The statistics change with each speculative attempt. If many tasks have several attempts, they are not judged anew
  // each time.
  const bool many = idle->looked && s.doubled.size() > MantriStage::kEarliest;
  idle->candidates = many;
  idle->doubled.clear();
  const StageId& id = idle->key.stage;
  const MantriStage& seen = Look(view.state(), id, depth);
  idle->looked = true;
  idle->changes = s.changes;
  idle->edits = idle->stage->edits;
  if (!seen.fresh.known()) {
    idle->candidates = false;
    return true;
  }
  if (many) {
    idle->doubled.assign(s.doubled.begin(), s.doubled.end());
    return true;
  }
  // On a worker that reads in no time: no other could do more.
  const auto location = [] { return 0.0; };
  const auto may = [&](const MantriCandidate& c) {
    return MayAct(rules_, seen.fresh, c, view.now(), -std::numeric_limits<double>::infinity(), false, true, location);
  };
  idle->candidates = std::any_of(seen.dearest.begin(), seen.dearest.end(), may) ||
                     std::any_of(seen.earliest.begin(), seen.earliest.end(), may);
  for (const uint32_t t : s.doubled) {
    view.state().Look();
    const TaskId task{id.job, id.stage, t};
    if (JudgeTask(rules_, view, task, nullptr, seen.fresh, 0, false, true)) idle->doubled.push_back(t);
  }
  return true;
}

void MantriStages::Forget(JobId job) {
  stages_.erase(stages_.lower_bound({job, 0}), stages_.upper_bound({job, ~uint32_t{0}}));
}

}  // namespace mr::sched
