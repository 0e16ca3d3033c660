// Rules about the shape of jobs: which graphs and plans can be run, and what a task of each edge
// kind reads. For the core, and for hosts that want to refuse a job before they accept it.
#pragma once

#include <string>

#include "common/base/status.h"
#include "master/sched/entities.h"
#include "master/sched/event.h"
#include "master/sched/model.h"

namespace mr::sched {

// kInvalidArgument with the stage's name where the graph cannot be run.
Status CheckGraph(const JobGraph& graph);

// What is wrong with this answer to PlanStage, or "".
std::string CheckPlan(const Job& job, const StagePlanned& plan);

// All stages that `stage` reads are planned.
bool UpstreamPlanned(const Job& job, uint32_t stage);

// Attempts of this stage may give different content for one task: its operator does, or one whose outputs it reads.
bool MayDiffer(const Job& job, uint32_t stage);

// One edge as a reading stage sees it. partitions: those of the upstream's output that belong to
// this edge, [partition_begin, partition_begin + partitions).
struct EdgeShape {
  EdgeKind kind = EdgeKind::kAllToAll;
  uint32_t input = 0;
  uint32_t upstream_tasks = 0;
  uint32_t partition_begin = 0, partitions = 1;
  uint32_t readers = 1;
};
// What reading task `reader` reads of it. Many-to-one divides the upstream tasks into contiguous
// ranges whose lengths differ by one at most.
Slice SliceOf(const EdgeShape& edge, uint32_t reader);

}  // namespace mr::sched
