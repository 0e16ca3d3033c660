#include "master/sched/policies/dolly/idle_stages.h"

#include <map>

#include "master/sched/job_graph.h"
#include "master/sched/policies/common/lent_slots.h"
#include "master/sched/policies/dolly/reasons.h"

namespace mr::sched {

std::optional<Reason> IdleLimits::WhyNot(const View& view, size_t tasks) const {
  if (auto why = network.WhyNotAny(view)) return why;
  if (auto why = worth.WhyNot(view, tasks)) return why;
  return credit.WhyNot(view, tasks);
}

bool QueueKeepsClonesOut(const State& state, const Job& job, SlotKind kind) {
  if (state.QueueFull(job, kind)) return true;
  const Queue& q = *job.in_queue;
  if (!state.sharing().max_shares || q.max_share == 0 || !CountsInQueue(state, kind)) return false;
  const uint32_t held = HeldInQueue(state, q);
  return held + 1 >= q.max_share && (q.has_ready() || q.has_early(0) || q.has_early(1));
}

bool IdleStages::Fits(const Job& job, uint32_t stage, SlotKind kind) const {
  const StageSpec& spec = job.graph.stages[stage];
  return spec.slot_kind == kind && job.stages[stage].tasks.size() <= tasks_ && !spec.side_effects &&
         !MayDiffer(job, stage);
}

bool IdleStages::Serves(const View& view, const Job& job, uint32_t stage, SlotKind kind) const {
  return Fits(job, stage, kind) && !limits_.WhyNot(view, job.stages[stage].tasks.size()) &&
         !limits_.network.WhyNotCopy(view, job, stage);
}

std::vector<IdleStage>& IdleStages::SeenBy(const View& view, SlotKind kind) {
  const State& state = view.state();
  std::vector<IdleStage>& stages = seen_[KindIndex(kind)];
  if (round_[KindIndex(kind)] == state.idle_rounds()) return stages;
  round_[KindIndex(kind)] = state.idle_rounds();
  stages.clear();
  // Stages that Serves accepts. The limits depend on the number of tasks alone, and take a dozen facts.
  std::map<size_t, bool> open;
  for (const StageKey& key : view.speculable(kind)) {
    const Job& job = *state.FindJob(key.stage.job);
    const Stage& stage = job.stages[key.stage.stage];
    if (!Fits(job, key.stage.stage, kind)) continue;
    const auto [limit, added] = open.try_emplace(stage.tasks.size());
    if (added) limit->second = !limits_.WhyNot(view, stage.tasks.size());
    if (!limit->second || limits_.network.WhyNotCopy(view, job, key.stage.stage)) continue;
    stages.push_back({&job, &stage, key});
  }
  return stages;
}

IdleStage* IdleStages::NextWithAny(const View& view, SlotKind kind, size_t* position) {
  const auto has_any = [&](IdleStage* seen) { return HasAny(view.state(), seen); };
  const auto open = [&](const IdleStage& seen) { return !QueueKeepsClonesOut(view.state(), *seen.job, kind); };
  return hopeful_[KindIndex(kind)].Next(view.state(), SeenBy(view, kind), position, has_any, open);
}

bool IdleStages::HasAny(const State& state, IdleStage* seen) const {
  if (!seen->looked || seen->changes != seen->stage->statistics.changes) {
    state.Look();
    seen->looked = true;
    seen->changes = seen->stage->statistics.changes;
    const auto anywhere = [](const Task&) { return true; };
    const bool ready = state.AnyFullReady(*seen->job, seen->id().stage);
    for (uint32_t live = 1; live < attempts_; ++live) {
      seen->any[live] = ready && Pick(state, *seen, live, anywhere).has_value();
    }
  }
  return std::find(seen->any.begin(), seen->any.end(), true) != seen->any.end();
}

}  // namespace mr::sched
