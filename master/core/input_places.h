// Where the input of a task is in the block store: for the scheduler's placement, and for the task that reads it. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
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

// A block that a task reads, or may read the end of its last record from, and that no registered worker has.
struct MissingInput {
  BlockId block;
  std::string uri;
  bool first = false;  // the block at which the task's split begins
};

// Finds tasks whose input is missing. Valid until the namespace changes; files and plan must outlive it.
class MissingInputs {
 public:
  MissingInputs(const dfs::Namespace& files, const JobPlan& plan) : files_(files), plan_(plan) {}
  // Returns the first missing block of the task; nothing if all can be read, or if it reads no file of the block store.
  // Cost: the splits of the task, and the blocks of each file once.
  std::optional<MissingInput> Of(uint32_t stage, uint32_t task);

 private:
  const dfs::Namespace& files_;
  const JobPlan& plan_;
  std::map<uint64_t, std::vector<dfs::MissingBlock>> missing_;  // by file
};

}  // namespace mr::master
