// Full disks: a full worker takes neither blocks nor attempts. Where all workers are full, the waiting job with the
// most shuffle output fails.
#pragma once

#include <string>

#include "common/model/disk_room.h"
#include "master/core/master_core.h"

namespace mr::master {

// Returns how much room the worker's disk has, for people.
std::string DescribeRoom(const WorkerView& worker);
// Returns why no worker has room; "" where a worker takes attempts, or may do so soon (it stalls, or is expected back),
// or where something else than room keeps all from it. now: lived.
std::string WhyNoRoom(const MasterCore& core, Instant now);

}  // namespace mr::master
