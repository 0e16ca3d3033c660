// The answers to PlanStage: the tasks of a stage, with their slices, input sizes and preferred workers. Pure: reads the
// job's plan, the sizes of committed outputs and the places of blocks.
//
// Stages are planned when the scheduler requests it, which is early: reduces may start before their inputs are
// complete. A stage that may share fat partitions (ADR 0001) is planned when all its shuffle input exists and its sizes
// are known.
#pragma once

#include <cstdint>

#include "dfs/meta/namespace.h"
#include "master/core/jobs.h"
#include "master/core/partition_sizes.h"

namespace mr::master {

// The facts from which the tasks of a stage follow.
struct PlanBasis {
  const PartitionSizes& sizes;
  const dfs::Namespace& files;
  uint64_t fat_bytes = 0;  // mrmaster --fat_partition_bytes
};

// Returns the number of tasks where no partition is shared: for a stage that may share them, the partitions that it
// reads; for one that reads another one-to-one, the tasks that it has by now; for others, what the plan says.
uint32_t UncutTasks(const JobView& job, uint32_t stage);

// Returns whether the stage must wait for the sizes of its inputs.
bool WaitsForSizes(const JobView& job, uint32_t stage, uint64_t fat_bytes);

// Returns the stage's plan. Its `error` says why there is none.
sched::StagePlanned PlanOf(const JobView& job, uint32_t stage, const PlanBasis& basis);

// Returns whether some stage of the job needs the sizes of this stage's partitions.
bool SizesWanted(const JobView& job, uint32_t stage);

}  // namespace mr::master
