// Centrality: the workers nearest to what a stage reads. Coupling Scheduler (Tan, Meng, Zhang, INFOCOM 2013), algorithm
// 2:
//   C(v) = sum over workers u with outputs that the stage reads of bytes(u) * hops(v, u)
//   hops: 0 on the worker, 2 in its rack, 4 elsewhere
#pragma once

#include <vector>

#include "common/base/rng.h"
#include "master/sched/state/state.h"

namespace mr::sched {

// Returns whether tasks of this stage read outputs of other stages.
inline bool ReadsStages(const StageSpec& spec) {
  for (const StageInput& input : spec.inputs) {
    if (input.is_edge) return true;
  }
  return false;
}

// Returns whether an attempt of such a task of the job has a slot on this worker.
bool RunsReader(const Job& job, const Worker& w);

inline constexpr size_t kNear = 7;  // D in the paper

// Returns the kNear cheapest workers with a free slot of this kind, the cheapest first, ties in random order. Leaves
// out workers that run a reader of the job. Cost: the tasks that the stage reads, and some hundred workers.
std::vector<WorkerId> CentralWorkers(const State& state, const StageId& id, SlotKind kind, Rng& rng);

}  // namespace mr::sched
