// Reads what a drained worker waits for (master/core/drain.h): whether it may be stopped.
#pragma once

#include <cstddef>
#include <map>
#include <utility>

#include "common/base/status.h"
#include "dfs/meta/namespace.h"
#include "master/core/drain.h"
#include "master/core/master_core.h"

namespace mr::master {

// Blocks that one turn of the master's thread may walk over: about a millisecond.
inline constexpr size_t kCountSlice = 4096;

// Thread: the master's.
class DrainReader {
 public:
  explicit DrainReader(MasterCore& core) : core_(core) {}

  // Errors: kNotFound. Cost: a walk over the worker's blocks, at most once per second if these are very many.
  Result<DrainReport> DrainOf(WorkerId worker);

 private:
  const dfs::DrainBlocks& BlocksKept(WorkerId worker);

  MasterCore& core_;
  std::map<WorkerId, std::pair<Instant, dfs::DrainBlocks>> blocks_kept_;  // with the time of the walk
};

}  // namespace mr::master
