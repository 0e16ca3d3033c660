#include "master/sched/policies/mantri/mantri_stage.h"

#include <algorithm>
#include <limits>
#include <set>
#include <span>

#include "common/base/prefetch.h"

namespace mr::sched {

namespace {

// Prefetches what StandingOf reads of these attempts, one level of pointers after the other. In a large cluster none of
// it is near. Always inline: gcc drops the calls of a function that only prefetches.
[[gnu::always_inline]] inline void FetchAhead(const Stage& stage,
                                              std::span<const std::pair<Instant, AttemptKey>> keys) {
  for (const auto& [started, key] : keys) {
    const Task& task = stage.tasks[key.first];
    AskMemory(&task.plan, sizeof task.plan);
    AskMemory(&task.attempts, 2 * sizeof(void*));  // begin and end
  }
  for (const auto& [started, key] : keys) {
    AskMemory(&stage.tasks[key.first].attempts.back(), sizeof(Attempt) - sizeof(Rating));
  }
  for (const auto& [started, key] : keys) {
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

// Returns the smallest input of a task, as planned.
double LeastInput(const Stage& stage) {
  return static_cast<double>(stage.tasks[stage.by_input.empty() ? 0 : stage.by_input.back()].plan.input_bytes);
}

}  // namespace

MantriStage& MantriStages::Look(const State& state, const StageId& id, size_t depth) {
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
  seen.starts.clear();
  seen.loaded = 0;
  if (!seen.fresh.known()) return seen;
  seen.least_age = s.paced == 0 ? seen.fresh.LeastAge(LeastInput(stage)) : Duration{};
  s.by_start.Walk(MantriStage::kEarliest, [&](const auto& entry) {
    seen.starts.emplace_back(Instant{entry.first}, entry.second);
    return true;
  });
  std::vector<double> costs;
  std::vector<std::pair<Instant, AttemptKey>> keys;
  s.by_cost.Walk(depth, [&](const auto& entry) {
    costs.push_back(-entry.first);
    keys.emplace_back(Instant{}, entry.second);
    return true;
  });
  FetchAhead(stage, keys);
  for (size_t rank = 0; rank < keys.size(); ++rank) {
    auto candidate = CandidateOf(state, stage, seen.fresh, keys[rank].second);
    if (!candidate) continue;
    candidate->rank = rank;
    candidate->cost = costs[rank];
    seen.dearest.push_back(*candidate);
  }
  return seen;
}

void MantriStages::LoadEarliest(const State& state, Instant now, Duration age, MantriStage* seen) const {
  size_t end = seen->loaded;
  while (end < seen->starts.size() && now - seen->starts[end].first >= age) ++end;
  if (end == seen->loaded) return;
  const Stage& stage = *state.FindStage(seen->id);
  FetchAhead(stage, std::span(seen->starts).subspan(seen->loaded, end - seen->loaded));
  for (; seen->loaded < end; ++seen->loaded) {
    auto candidate = CandidateOf(state, stage, seen->fresh, seen->starts[seen->loaded].second);
    if (candidate) seen->earliest.push_back(*candidate);
  }
}

std::optional<MantriCandidate> MantriStages::CandidateOf(const State& state, const Stage& stage,
                                                         const NewAttempt& fresh, AttemptKey key) const {
  state.Look();
  const Task& task = stage.tasks[key.first];
  const auto a = std::find_if(task.attempts.rbegin(), task.attempts.rend(),
                              [&](const Attempt& one) { return one.number == key.second; });
  const Standing standing = StandingOf(task, *a);
  // JudgeTask does not judge these.
  if (standing.pace ? fresh.early() && standing.pace->from_start : !standing.since) return std::nullopt;
  return MantriCandidate{key.first,    0, 0, a->started_at, standing, ReportPeriod(rules_, fresh, standing.bytes),
                         SplitOf(task)};
}

std::vector<MantriIdle>& MantriStages::Idle(const View& view, SlotKind kind) {
  const State& state = view.state();
  std::vector<MantriIdle>& stages = idle_[KindIndex(kind)];
  if (round_[KindIndex(kind)] == state.idle_rounds()) return stages;
  round_[KindIndex(kind)] = state.idle_rounds();
  const std::set<StageKey>& keys = view.speculable(kind);
  const auto same = [](const MantriIdle& idle, const StageKey& key) { return idle.key == key; };
  if (std::equal(stages.begin(), stages.end(), keys.begin(), keys.end(), same)) return stages;
  // Verdicts on the stages that remain are kept. Both are in the order of the keys.
  std::vector<MantriIdle> now;
  now.reserve(keys.size());
  auto old = stages.begin();
  for (const StageKey& key : keys) {
    while (old != stages.end() && old->key < key) ++old;
    if (old != stages.end() && old->key == key) {
      now.push_back(std::move(*old++));
      continue;
    }
    const Job* job = state.FindJob(key.stage.job);
    now.push_back({key, job, &job->stages[key.stage.stage]});
  }
  stages = std::move(now);
  return stages;
}

bool MantriStages::Refresh(const View& view, size_t depth, MantriIdle* idle) {
  const uint64_t round = view.state().idle_rounds(), last = idle->round;
  const StageStatistics& s = idle->stage->statistics;
  const bool same = idle->judged && idle->changes == s.changes && idle->edits == idle->stage->edits;
  if (same && last == round) return true;
  if (!s.speculable()) return false;
  idle->round = round;
  if (same && view.now() < idle->quiet_until) return true;
  // The statistics change with each speculative attempt. If many tasks have several attempts, they are not judged anew
  // each time.
  if (last == round && s.doubled.size() > MantriStage::kEarliest) {
    idle->judged = true;
    idle->changes = s.changes;
    idle->edits = idle->stage->edits;
    idle->quiet_until = {};
    idle->candidates = Look(view.state(), idle->key.stage, depth).fresh.known();
    idle->doubled.clear();
    if (idle->candidates) idle->doubled.assign(s.doubled.begin(), s.doubled.end());
    return true;
  }
  Judge(view, depth, idle);
  return true;
}

void MantriStages::Judge(const View& view, size_t depth, MantriIdle* idle) {
  constexpr Instant kForever{INT64_MAX};
  const StageId& id = idle->key.stage;
  const StageStatistics& s = idle->stage->statistics;
  MantriStage& seen = Look(view.state(), id, depth);
  idle->judged = true;
  idle->changes = s.changes;
  idle->edits = idle->stage->edits;
  idle->quiet_until = kForever;
  idle->candidates = false;
  idle->doubled.clear();
  if (!seen.fresh.known()) return;
  LoadEarliest(view.state(), view.now(), seen.least_age, &seen);
  // On a worker that reads in no time: no other could do more.
  const auto location = [] { return 0.0; };
  const auto may = [&](const MantriCandidate& c) {
    return MayAct(rules_, seen.fresh, c, view.now(), -std::numeric_limits<double>::infinity(), false, true, location);
  };
  idle->candidates = std::any_of(seen.dearest.begin(), seen.dearest.end(), may) ||
                     std::any_of(seen.earliest.begin(), seen.earliest.end(), may);
  const auto quiet_until = [&](Instant until) { idle->quiet_until = std::min(idle->quiet_until, until); };
  if (idle->candidates) quiet_until({});
  if (seen.loaded < seen.starts.size()) quiet_until(seen.starts[seen.loaded].first + seen.least_age);
  for (const auto* candidates : {&seen.dearest, &seen.earliest}) {
    for (auto c = candidates->begin(); c != candidates->end() && idle->quiet_until > view.now(); ++c) {
      quiet_until(QuietUntil(rules_, seen.fresh, c->standing, view.now()));
    }
  }
  FetchAhead(*idle->stage, s.doubled);
  for (const uint32_t t : s.doubled) {
    view.state().Look();
    const TaskId task{id.job, id.stage, t};
    if (JudgeTask(rules_, view, task, nullptr, seen.fresh, 0, false, true)) {
      idle->doubled.push_back(t);
      quiet_until({});
    } else if (idle->quiet_until > view.now()) {
      quiet_until(QuietUntil(rules_, view, task, seen.fresh));
    }
  }
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
