// Stages with a task that opportunistic may clone, as seen in one round of idle offers.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "master/sched/plan.h"
#include "master/sched/policies/common/hopeful.h"
#include "master/sched/policies/common/network_bound.h"
#include "master/sched/policies/dolly/clone_credit.h"
#include "master/sched/policies/dolly/idle_worth.h"

namespace mr::sched {

struct IdleStage {
  const Job* job = nullptr;
  const Stage* stage = nullptr;
  StageKey key;
  uint64_t changes = 0;  // of its statistics, at the last look
  bool looked = false;
  std::array<bool, kMostRunning> any{};  // by attempts of a task: some worker could run a clone of one
  const StageId& id() const { return key.stage; }
  const StageSpec& spec() const { return job->graph.stages[id().stage]; }
};

// Which phases may have clones on idle slots: by what such clones gained, and what they took.
struct IdleLimits {
  IdleWorth worth;
  CloneCredit credit;
  NetworkBound network;
  // Returns why a phase of this many tasks may have none now, or nullopt.
  std::optional<Reason> WhyNot(const View& view, size_t tasks) const;
};

class IdleStages {
 public:
  // attempts: most per task, all counted. tasks: most per stage.
  IdleStages(uint32_t attempts, size_t tasks, const IdleLimits& limits)
      : attempts_(attempts), tasks_(tasks), limits_(limits) {}

  // Returns whether the stage is small enough, clones of such stages pay, and a clone can change only the time of its
  // end.
  bool Serves(const View& view, const Job& job, uint32_t stage, SlotKind kind) const;
  // Returns the next stage with a task for some worker, or null (Hopeful::Next). A caller that launches a clone of it
  // sets `looked` back.
  IdleStage* NextWithAny(const View& view, SlotKind kind, size_t* position);

  // Returns a task with `live` attempts, none of them speculative, for which `fits` holds; the least advanced first.
  template <class Fits>
  std::optional<uint32_t> Pick(const State& state, const IdleStage& seen, uint32_t live, Fits&& fits) const {
    std::optional<uint32_t> picked;
    seen.stage->statistics.by_score.Walk(tasks_, [&](const auto& entry) {
      const Task& task = seen.stage->tasks[entry.second.first];
      const bool good = task.live == live && TimesFailed(task) < kFailuresOfCloned &&
                        state.InputsComplete(*seen.job, seen.id().stage, task) && fits(task);
      if (good) picked = entry.second.first;
      return !picked;
    });
    return picked;
  }

 private:
  // The part of Serves that no fact changes.
  bool Fits(const Job& job, uint32_t stage, SlotKind kind) const;
  std::vector<IdleStage>& SeenBy(const View& view, SlotKind kind);
  bool HasAny(const State& state, IdleStage* seen) const;

  const uint32_t attempts_;
  const size_t tasks_;
  const IdleLimits limits_;
  // Cache of this round. It changes no decision.
  std::array<std::vector<IdleStage>, 2> seen_;
  std::array<uint64_t, 2> round_{~uint64_t{0}, ~uint64_t{0}};
  std::array<Hopeful<IdleStage>, 2> hopeful_;
};

// Returns whether the job's queue is full, or would be with a clone, which would have to end at once for waiting tasks.
bool QueueKeepsClonesOut(const State& state, const Job& job, SlotKind kind);

}  // namespace mr::sched
