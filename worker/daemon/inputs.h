// Opens the splits of an attempt: local files by path, blocks of the store by descriptor. Bytes
// behind a split's descriptor, which the last record of a split may need, are read on demand.
#pragma once

#include <kj/async.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "worker/shuffle/on_pool.h"
#include "worker/daemon/types.h"
#include "worker/host/task_host.h"

namespace mr::dfs {
class DfsClient;
}

namespace mr::worker {

class InputOpener {
 public:
  // Gives null where the block store cannot be reached.
  using DfsGiver = std::function<kj::Promise<dfs::DfsClient*>()>;
  InputOpener(PostToPool post, DfsGiver dfs, std::string temp_directory);

  // Formats and sample sizes come from the stage's inputs. On the loop.
  kj::Promise<Result<std::vector<SplitInput>>> Open(std::shared_ptr<const StageInfo> stage, std::vector<Split> splits);
  // Bytes [offset, offset + length) of the split's file, fewer only at its end. On the loop.
  kj::Promise<Result<std::string>> ReadMore(const Split& split, uint64_t offset, uint64_t length);

 private:
  kj::Promise<Result<SplitInput>> OpenOne(SplitInput input, const Split& split);
  kj::Promise<Result<SplitInput>> OpenBlock(dfs::DfsClient& dfs, SplitInput input, const Split& split);
  kj::Promise<Result<std::string>> ReadBlocks(Split split, uint64_t offset, uint64_t end, std::string sofar);
  kj::Promise<Result<std::string>> ReadBlocksOf(dfs::DfsClient& dfs, Split split, uint64_t offset, uint64_t end,
                                                std::string sofar);

  const PostToPool post_;
  const DfsGiver dfs_;
  const std::string temp_directory_;
};

}  // namespace mr::worker
