// Operator libraries, and side files of jobs (side_files.h), by their SHA-256: the built-in one beside the binary,
// others in DIR/lib, asked from the master piece by piece when they are first needed. A file is used only after its
// bytes have been seen to have that digest in this life of the worker. Lives on the loop.
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
  // Bytes of a library at an offset, at most 1 MiB.
  using Ask = std::function<kj::Promise<Result<Piece>>(std::string sha256, uint64_t offset)>;

  LibraryCache(rpc::KjThread& loop, PostToPool post, std::string builtin_path, std::string directory, Ask ask);

  // Path of a file with this digest; "" is the built-in library. Callers for one digest share one
  // transfer.
  kj::Promise<Result<std::string>> Path(const std::string& sha256);
  // Removes the file with this digest by remove(), on the pool; calls of Path meanwhile wait for that, and then ask the
  // master again where it is gone. Does nothing while the file is being fetched or removed.
  kj::Promise<void> Remove(const std::string& sha256, std::function<void()> remove);

 private:
  // Once no removal of it is under way.
  kj::Promise<void> Removed(const std::string& sha256);
  kj::Promise<Result<std::string>> Provide(std::string sha256);
  kj::Promise<Status> Transfer(std::string sha256, std::string to, uint64_t offset);

  rpc::KjThread& loop_;
  const PostToPool post_;
  const std::string builtin_path_, directory_;
  const Ask ask_;
  std::set<std::string> checked_;
  std::map<std::string, kj::ForkedPromise<Result<std::string>>> under_way_;
  std::map<std::string, kj::ForkedPromise<void>> removing_;
};

}  // namespace mr::worker
