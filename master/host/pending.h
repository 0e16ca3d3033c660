// Finds why tasks that could run have no slot.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "master/core/master_core.h"
#include "master/host/host_clock.h"

namespace mr::master {

struct Pending {
  uint32_t stage = 0;
  std::string why;        // a clause: "all 8 slots for them are taken"
  bool by_queue = false;  // the max share of the job's queue is the reason
};

// Returns an entry for each stage of the job that has runnable tasks without a slot, at most 20. Cost: the stages, and
// for each entry at worst the free workers. Thread: the master's.
std::vector<Pending> WhyPending(const MasterCore& core, const HostClock& clock, const JobView& job);

// Returns why the job runs nothing although it could, in sentences, at most 20. While some of it runs, only the max
// share of its queue is a reason.
std::vector<std::string> WhyWaits(const MasterCore& core, const HostClock& clock, const JobView& job);

}  // namespace mr::master
