// Which stages have a task that opportunistic may begin a clone of, as it sees them in one round of idle offers.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "master/sched/hopeful.h"
#include "master/sched/plan.h"

namespace mr::sched {

struct IdleStage {
  const Job* job = nullptr;
  const Stage* stage = nullptr;
  StageId id;
  uint64_t changes = 0;  // of its statistics, when it was looked at
  bool looked = false;
  std::array<bool, kMostRunning> any{};  // a task for some worker, by how many attempts the task has
  const StageSpec& spec() const { return job->graph.stages[id.stage]; }
};

class IdleStages {
 public:
  // attempts: of a task, all counted; tasks: of a stage.
  IdleStages(uint32_t attempts, size_t tasks) : attempts_(attempts), tasks_(tasks) {}

  // Small enough, and a clone changes nothing but when it ends.
  bool Serves(const Job& job, uint32_t stage, SlotKind kind) const;
  // The i-th that has something for any worker; null: there are fewer. Who launches of it sets `looked` back.
  IdleStage* WithAny(const View& view, SlotKind kind, size_t i);

  // A task that has so many attempts, none of them a copy, and for which `fits` holds; the least advanced first.
  template <class Fits>
  std::optional<uint32_t> Pick(const State& state, const IdleStage& seen, uint32_t live, Fits&& fits) const {
    std::optional<uint32_t> picked;
    seen.stage->statistics.by_score.Walk(tasks_, [&](const auto& entry) {
      const Task& task = seen.stage->tasks[entry.second.first];
      const bool good = task.live == live && TimesFailed(task) < kFailuresOfCloned &&
                        state.InputsComplete(*seen.job, seen.id.stage, task) && fits(task);
      if (good) picked = entry.second.first;
      return !picked;
    });
    return picked;
  }

 private:
  std::vector<IdleStage>& SeenBy(const View& view, SlotKind kind);
  bool HasAny(const State& state, IdleStage* seen) const;

  const uint32_t attempts_;
  const size_t tasks_;
  // What this round has: never decides anything else than a look at the state would.
  std::array<std::vector<IdleStage>, 2> seen_;
  std::array<uint64_t, 2> round_{~uint64_t{0}, ~uint64_t{0}};
  std::array<Hopeful<IdleStage>, 2> hopeful_;
};

// Its queue holds all that it may; or would with a clone, which would have to go at once for what waits of it.
bool QueueKeepsClonesOut(const State& state, const Job& job, SlotKind kind);

}  // namespace mr::sched
