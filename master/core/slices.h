// Which slices of its edges each task of a stage reads. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "common/model/job_plan.h"
#include "common/model/job_spec.h"
#include "master/core/fat_partitions.h"

namespace mr::master {

// Returns the slices of its edges that each of the stage's `tasks` reads, where no partition is shared.
std::vector<std::vector<Slice>> SlicesOf(const JobSpec& spec, const JobPlan& plan, uint32_t stage, uint32_t tasks);
// Returns the slices of each task, where the tasks are these pieces.
std::vector<std::vector<Slice>> SlicesOf(const JobSpec& spec, const JobPlan& plan, uint32_t stage,
                                         const std::vector<Piece>& pieces);

}  // namespace mr::master
