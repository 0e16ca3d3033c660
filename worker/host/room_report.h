// The rooms that tasks get on this machine (task/room.h), as the helper reported them at its start.
#pragma once

#include <string>

namespace mr::worker {

struct RoomReport {
  int tier = 0;
  int landlock_abi = 0;  // 0: the kernel has no Landlock
  std::string why;       // why the tier is no higher; "" where it is the highest
};

}  // namespace mr::worker
