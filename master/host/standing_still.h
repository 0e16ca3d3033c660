// Reports on work that stands still: tasks with an earlier attempt that may still run, and attempts without progress.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "master/core/master_core.h"

namespace mr::master {

// Returns why no attempt of this task is launched although none is live: an earlier one may still run
// (worker/adr/0003). now: the present time on the axis of stamps.
std::vector<std::string> WhyUnended(const MasterCore& core, const JobView& job, const TaskId& task, Instant now);

// Returns attempts of a running job that have made no progress for a good part of its --task-timeout, each with a
// sentence; at most 20. now: the present time on the axis of stamps.
std::vector<std::pair<AttemptId, std::string>> Hung(const MasterCore& core, const JobView& job, Instant now);

}  // namespace mr::master
