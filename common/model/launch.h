// The command that starts an attempt on its worker.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/ids.h"
#include "common/model/output.h"
#include "common/model/split.h"

namespace mr {

struct LaunchCommand {
  AttemptId attempt;
  uint32_t generation = 0;  // of the output that it makes
  std::vector<SplitToRead> splits;
  std::vector<Slice> slices;
  bool by_bind = false;  // it reads only replicas that a Bind names
  bool operator==(const LaunchCommand&) const = default;
};

}  // namespace mr
