// Rules for the shape of jobs: which graphs and plans can run, and what a task of each edge kind reads. Used by the
// core, and by hosts that refuse a job before they accept it.
#pragma once

#include <string>

#include "common/base/status.h"
#include "master/sched/event.h"
#include "master/sched/model.h"
#include "master/sched/state/entities.h"

namespace mr::sched {

// Returns kInvalidArgument with the stage's name if the graph cannot run.
Status CheckGraph(const JobGraph& graph);

// Returns the error in this answer to PlanStage, or "".
std::string CheckPlan(const Job& job, const StagePlanned& plan);

// Returns true if all stages that `stage` reads are planned.
bool UpstreamPlanned(const Job& job, uint32_t stage);

// Returns true if attempts of one task of this stage may give different content: its operator or one whose outputs it
// reads is indeterminate.
bool MayDiffer(const Job& job, uint32_t stage);

// One edge as a reading stage sees it. Its partitions of the upstream output are [partition_begin, partition_begin +
// partitions).
struct EdgeShape {
  EdgeKind kind = EdgeKind::kAllToAll;
  uint32_t input = 0;
  uint32_t upstream_tasks = 0;
  uint32_t partition_begin = 0, partitions = 1;
  uint32_t readers = 1;
};
// Returns what task `reader` reads of the edge. Many-to-one divides the upstream tasks into contiguous ranges; their
// lengths differ by at most one.
Slice SliceOf(const EdgeShape& edge, uint32_t reader);

}  // namespace mr::sched
