// Trims DIR/lib (operator libraries, side files) and DIR/log (logs of attempts) to a size and an age, oldest first.
// Logs of failed attempts go after those of others. The logs of each owner of jobs have a limit, too. Keeps files that
// an unfinished job names, and logs of running attempts. Thread: the loop.
#pragma once

#include <kj/async.h>

#include <string>
#include <vector>

#include "common/io/retention.h"
#include "worker/daemon/library_cache.h"
#include "worker/daemon/log_owners.h"
#include "worker/daemon/worker.h"

namespace mr::worker {

class Housekeeping {
 public:
  struct Options {
    std::string lib, log;  // directories
    RetentionLimits libraries = {8ull << 30, Seconds(30 * 86400)};
    RetentionLimits logs = {1ull << 30, Seconds(7 * 86400)};
    uint64_t owner_log_bytes = 512ull << 20;  // of the logs of one owner's jobs; 0: no limit
    Duration period = Seconds(60);
  };
  // Starts at once.
  Housekeeping(rpc::KjThread& loop, PostToPool post, Worker& worker, LibraryCache& cache, LogOwners& owners,
               Options options);

  // Return the bytes of the logs, and of the libraries and side files, that the last look found and left.
  uint64_t log_bytes() const { return log_bytes_; }
  uint64_t library_bytes() const { return library_bytes_; }

 private:
  using Files = std::vector<StoredFile>;
  kj::Promise<void> Run();
  kj::Promise<void> TrimLogs();
  kj::Promise<void> TrimLibraries();
  kj::Promise<void> RemoveLibraries(Files surplus, size_t next);

  rpc::KjThread& loop_;
  const PostToPool post_;
  Worker& worker_;
  LibraryCache& cache_;
  LogOwners& owners_;
  const Options options_;
  uint64_t log_bytes_ = 0, library_bytes_ = 0;
  kj::Promise<void> running_;
};

}  // namespace mr::worker
