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
  std::string why;  // a clause: "all 8 slots for them are taken"
};

// Returns an entry for each stage of the job that has runnable tasks without a slot. Cost: the stages; at worst the
// free workers. Thread: the master's.
std::vector<Pending> WhyPending(const MasterCore& core, const HostClock& clock, const JobView& job);

}  // namespace mr::master
