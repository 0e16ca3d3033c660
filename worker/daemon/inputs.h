// Opens the splits of an attempt: local files by path, blocks of the store by descriptor. Bytes
// behind a split's descriptor, which the last record of a split may need, are read on demand.
// A job reads one version of its inputs: of the store's files the one whose id the split has; local files are compared
// with what was planned when they are opened and when the attempt is done with them.
#pragma once

#include <kj/async.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "worker/daemon/types.h"
#include "worker/host/task_host.h"
#include "worker/shuffle/on_pool.h"

namespace mr::dfs {
class DfsClient;
}

namespace mr::worker {

// A local file that an attempt reads, kept open until its end.
struct LocalInput {
  UniqueFd fd;
  std::string uri;
  FileVersion planned;  // an inode of 0 = not known
  bool same_view = false;
};
using LocalInputPtr = std::shared_ptr<const LocalInput>;

// What became of local inputs since the job was planned.
struct InputChanges {
  std::string changed;             // not empty: the first that is not as planned, for people; the attempt must fail
  std::vector<std::string> grown;  // URIs, each once, at most kMaxGrown
  void Add(const InputChanges& other);
};
inline constexpr size_t kMaxGrown = 16;  // of a report: a guess, far above what people read

struct OpenedInputs {
  std::vector<SplitInput> splits;
  std::vector<LocalInputPtr> local;  // by split; null for the block store's
  InputChanges changes;              // changed: splits may be missing
};

class InputOpener {
 public:
  // Gives null where the block store cannot be reached.
  using DfsGiver = std::function<kj::Promise<dfs::DfsClient*>()>;
  InputOpener(PostToPool post, DfsGiver dfs, std::string temp_directory);

  // Formats and sample sizes come from the stage's inputs. On the loop.
  kj::Promise<Result<OpenedInputs>> Open(std::shared_ptr<const StageInfo> stage, std::vector<Split> splits);
  // Bytes [offset, offset + length) of the split's file, fewer only at its end; local: as Open gave it. On the loop.
  kj::Promise<Result<std::string>> ReadMore(const Split& split, LocalInputPtr local, uint64_t offset, uint64_t length);
  // Compares open files with what was planned. strict: one that grew has changed. On the loop.
  kj::Promise<InputChanges> Check(std::vector<LocalInputPtr> local, bool strict);

 private:
  struct Opened {
    SplitInput input;
    LocalInputPtr local;
    InputChanges changes;
  };
  static Result<Opened> OpenLocal(SplitInput input, const Split& split, bool strict);
  kj::Promise<Result<Opened>> OpenOne(SplitInput input, const Split& split, bool strict);
  kj::Promise<Result<SplitInput>> OpenBlock(dfs::DfsClient& dfs, SplitInput input, const Split& split);
  kj::Promise<Result<std::string>> ReadBlocks(Split split, uint64_t offset, uint64_t end, std::string sofar);
  kj::Promise<Result<std::string>> ReadBlocksOf(dfs::DfsClient& dfs, Split split, uint64_t offset, uint64_t end,
                                                std::string sofar);

  const PostToPool post_;
  const DfsGiver dfs_;
  const std::string temp_directory_;
};

}  // namespace mr::worker
