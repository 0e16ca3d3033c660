#include "master/sched/policies/mantri/mantri_stage.h"

#include <algorithm>
#include <limits>
#include <set>

#include "common/base/prefetch.h"

namespace mr::sched {

namespace {

// Prefetches what StandingOf reads of these attempts, one level of pointers after the other. In a large cluster none of
// it is near. Always inline: gcc drops the calls of a function that only prefetches.
[[gnu::always_inline]] inline void FetchAhead(const Stage& stage, const std::vector<AttemptKey>& keys) {
  for (const AttemptKey& key : keys) {
    const Task& task = stage.tasks[key.first];
    AskMemory(&task.plan, sizeof task.plan);
    AskMemory(&task.attempts, 2 * sizeof(void*));  // begin and end
  }
  for (const AttemptKey& key : keys) {
    AskMemory(&stage.tasks[key.first].attempts.back(), sizeof(Attempt) - sizeof(Rating));
  }
  for (const AttemptKey& key : keys) {
    const std::vector<Sample>& samples = stage.tasks[key.first].attempts.back().samples;
    AskMemory(samples.data(), samples.size() * sizeof(Sample));
    AskMemory(stage.tasks[key.first].plan.preferred.data(), 1);
  }
}

// The same for what JudgeTask reads of these tasks.
[[gnu::always_inline]] inline void FetchAhead(const Stage& stage, const std::set<uint32_t>& tasks) {
  for (const uint32_t t : tasks) AskMemory(&stage.tasks[t], sizeof(Task));
  for (const uint32_t t : tasks) {
    const std::vector<Attempt>& attempts = stage.tasks[t].attempts;
    AskMemory(attempts.data(), attempts.size() * sizeof(Attempt));
  }
}

CandidateSplit SplitOf(const Task& task) {
  CandidateSplit split;
  if (task.plan.preferred.size() > split.places.size()) return split;
  split.count = task.plan.preferred.size();
  std::copy(task.plan.preferred.begin(), task.plan.preferred.end(), split.places.begin());
  return split;
}

}  // namespace

const MantriStage& MantriStages::Look(const State& state, const StageId& id, size_t depth) {
  const Stage& stage = *state.FindStage(id);
  const StageStatistics& s = state.Counted(id);
  MantriStage& seen = StageOf(id);
  if (seen.changes == s.changes && seen.depth >= depth) return seen;
  seen.changes = s.changes;
  seen.depth = depth;
  seen.fresh = NewAttempt(s, rules_.running);
  seen.usual = {s.measured == 0 ? 0 : s.measured_work / s.measured};
  seen.dearest.clear();
  seen.earliest.clear();
  if (!seen.fresh.known()) return seen;
  std::vector<double> costs;
  std::vector<AttemptKey> keys;  // the dearest, then the earliest
  s.by_cost.Walk(depth, [&](const auto& entry) {
    costs.push_back(-entry.first);
    keys.push_back(entry.second);
    return true;
  });
  s.by_start.Walk(MantriStage::kEarliest, [&](const auto& entry) {
    keys.push_back(entry.second);
    return true;
  });
  FetchAhead(stage, keys);
  for (size_t rank = 0; rank < keys.size(); ++rank) {
    state.Look();
    const auto [number, attempt] = keys[rank];
    const Task& task = stage.tasks[number];
    const auto a = std::find_if(task.attempts.rbegin(), task.attempts.rend(),
                                [attempt = attempt](const Attempt& one) { return one.number == attempt; });
    const Standing standing = StandingOf(task, *a);
    // JudgeTask does not judge these.
    if (standing.pace ? seen.fresh.early() && standing.pace->from_start : !standing.since) continue;
    const bool dear = rank < costs.size();
    (dear ? seen.dearest : seen.earliest)
        .push_back({number, rank, dear ? costs[rank] : 0, a->started_at, standing,
                    ReportPeriod(rules_, seen.fresh, standing.bytes), SplitOf(task)});
  }
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
  FetchAhead(*idle->stage, s.doubled);
  for (const uint32_t t : s.doubled) {
    view.state().Look();
    const TaskId task{id.job, id.stage, t};
    if (JudgeTask(rules_, view, task, nullptr, seen.fresh, 0, false, true)) idle->doubled.push_back(t);
  }
  return true;
}

MantriStage& MantriStages::StageOf(const StageId& id) {
  MantriStage*& recent = recent_[PlaceOf(id)];
  if (recent == nullptr || recent->id != id) {
    recent = &stages_.try_emplace(id).first->second;
    recent->id = id;
  }
  return *recent;
}

void MantriStages::Forget(JobId job) {
  const auto end = stages_.upper_bound({job, ~uint32_t{0}});
  for (auto it = stages_.lower_bound({job, 0}); it != end; it = stages_.erase(it)) {
    MantriStage*& recent = recent_[PlaceOf(it->first)];
    if (recent == &it->second) recent = nullptr;
  }
}

}  // namespace mr::sched
