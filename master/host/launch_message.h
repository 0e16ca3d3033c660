// Messages that a worker needs to run an attempt: the launch itself, and its stage's configuration.
#pragma once

#include <cstdint>

#include "common/model/command.h"
#include "master/core/master_core.h"

namespace mr::master {

// Returns the message of this launch: its splits with the places of their blocks, or its slices.
LaunchCommand LaunchOf(const MasterCore& core, const JobView& job, const sched::Launch& launch);

// Returns what a worker must know of a stage before its first launch.
StageInfo InfoOf(const JobView& job, uint32_t index, uint64_t cluster_id);

}  // namespace mr::master
