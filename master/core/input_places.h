// Where the input of a task is in the block store: for the scheduler's placement, and for the task that reads it. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/model/block.h"
#include "dfs/meta/namespace.h"
#include "master/core/records.h"

namespace mr::master {

// The path of a dfs:// URI.
std::string DfsPath(const std::string& uri);

// Returns the workers with a replica of the split's first block; none for a local file or one that is not there.
std::vector<WorkerId> HoldersOf(const dfs::Namespace& files, const JobPlan& plan, const Split& split);

// Returns the blocks of the split, in the version of its file that was planned, and the block behind it, where the last
// record may end. near: address of the reader's worker, or "". attempt: clones of a task begin with different replicas
// (Dolly, NSDI 2013, section 3). Errors: those of Namespace::LocateFile.
Result<std::vector<LocatedBlock>> BlocksOf(const dfs::Namespace& files, const JobPlan& plan, const Split& split,
                                           const std::string& near, uint32_t attempt);

}  // namespace mr::master
