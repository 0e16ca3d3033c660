// Caches operator libraries and side files (side_files.h) by their SHA-256. The built-in library is beside the binary.
// Others are in DIR/lib, fetched from the master in pieces when they are first needed. A file is used only after this
// process has verified its digest. Lives on the loop.
#pragma once

#include <kj/async.h>

#include <functional>
#include <map>
#include <set>
#include <string>

#include "common/base/status.h"
#include "common/rpc/kj_thread.h"
#include "worker/shuffle/on_pool.h"

namespace mr::worker {

class LibraryCache {
 public:
  struct Piece {
    std::string bytes;
    uint64_t total_bytes = 0;
  };
  // Requests bytes of a library at an offset, at most 1 MiB.
  using Ask = std::function<kj::Promise<Result<Piece>>(std::string sha256, uint64_t offset)>;

  LibraryCache(rpc::KjThread& loop, PostToPool post, std::string builtin_path, std::string directory, Ask ask);

  // Returns the path of the file with this digest; "" is the built-in library. Concurrent calls for one digest share
  // one transfer.
  kj::Promise<Result<std::string>> Path(const std::string& sha256);
  // Removes the file with this digest by calling remove() on the pool. Calls of Path wait for that, and then fetch the
  // file again if it is gone. Does nothing while the file is being fetched or removed.
  kj::Promise<void> Remove(const std::string& sha256, std::function<void()> remove);

 private:
  // Resolves when no removal of the file is in progress.
  kj::Promise<void> Removed(const std::string& sha256);
  kj::Promise<Result<std::string>> Provide(const std::string& sha256);
  kj::Promise<Status> Transfer(const std::string& sha256, const std::string& to, uint64_t offset);

  rpc::KjThread& loop_;
  const PostToPool post_;
  const std::string builtin_path_, directory_;
  const Ask ask_;
  std::set<std::string> checked_;
  std::map<std::string, kj::ForkedPromise<Result<std::string>>> under_way_;
  std::map<std::string, kj::ForkedPromise<void>> removing_;
};

}  // namespace mr::worker
