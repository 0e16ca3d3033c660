// Opens the splits of an attempt: local files by path, blocks of the store by descriptor, URLs by fetching them. Reads
// the bytes after a split's descriptor on demand, because the last record of the split may need them.
//
// A job reads one version of its inputs. A split names the version of a dfs file by its id. A local file is compared
// with the planned version when it is opened and when the attempt is done with it, and a URL with each answer.
#pragma once

#include <kj/async.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/io/file_roots.h"
#include "common/io/file_version.h"
#include "worker/daemon/cached_inputs.h"
#include "worker/daemon/types.h"
#include "worker/daemon/url_inputs.h"
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

// Changes of local inputs since the job was planned.
struct InputChanges {
  std::string changed;  // for people: the first input that is not as planned; if not empty, the attempt must fail
  std::vector<std::string> grown;  // URIs, each once, at most kMaxGrown
  void Add(const InputChanges& other);
};

struct OpenedInputs {
  std::vector<SplitInput> splits;
  std::vector<LocalInputPtr> local;  // by split; null for splits of the block store and of URLs
  InputChanges changes;              // if `changed` is not empty, splits may be missing
};

class InputOpener {
 public:
  // Returns a client, or null if the block store cannot be reached.
  using DfsGiver = std::function<kj::Promise<dfs::DfsClient*>()>;
  // roots: below which local files are read.
  InputOpener(PostToPool post, DfsGiver dfs, std::string temp_directory, FileRoots roots, UrlInputs& urls);

  // Opens all splits. Formats and sample sizes come from the stage's inputs. Thread: the loop.
  kj::Promise<Result<OpenedInputs>> Open(const std::shared_ptr<const StageInfo>& stage,
                                         const std::vector<SplitToRead>& splits);
  // Reads bytes [offset, offset + length) of the split's file, fewer only at its end. local: from Open. Thread: the
  // loop.
  kj::Promise<Result<std::string>> ReadMore(const SplitToRead& split, LocalInputPtr local, uint64_t offset,
                                            uint64_t length);
  // Compares open files with the planned versions. strict: a file that grew counts as changed. Thread: the loop.
  kj::Promise<InputChanges> Check(std::vector<LocalInputPtr> local, bool strict);

 private:
  struct Opened {
    SplitInput input;
    LocalInputPtr local;
    InputChanges changes;
  };
  // Blocks.
  Result<Opened> OpenLocal(SplitInput input, const SplitToRead& split, bool strict) const;
  kj::Promise<Result<Opened>> OpenOne(SplitInput input, const SplitToRead& split, bool strict,
                                      const std::shared_ptr<std::atomic<bool>>& url_failed);
  kj::Promise<Result<SplitInput>> OpenBlock(dfs::DfsClient& dfs, SplitInput input, const SplitToRead& split);
  kj::Promise<Result<std::string>> ReadBlocks(SplitToRead split, uint64_t offset, uint64_t end, std::string sofar);
  kj::Promise<Result<std::string>> ReadBlocksOf(dfs::DfsClient& dfs, SplitToRead split, uint64_t offset, uint64_t end,
                                                std::string sofar);

  const PostToPool post_;
  const DfsGiver dfs_;
  const std::string temp_directory_;
  const FileRoots roots_;
  UrlInputs& urls_;
  CachedInputs cached_;
};

}  // namespace mr::worker
