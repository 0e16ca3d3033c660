// Side files of jobs: bytes by their SHA-256 out of the cache that operator libraries have, under the names that the
// job gave them in a directory of its own, DIR/JOB/NAME, until the job ends. Read-only. Lives on the loop.
#pragma once

#include <kj/async.h>

#include <map>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "worker/daemon/library_cache.h"
#include "worker/daemon/types.h"

namespace mr::worker {

class SideFiles {
 public:
  // directory: emptied at the worker's start by its owner.
  SideFiles(PostToPool post, LibraryCache& cache, std::string directory);

  // The absolute path of the directory with these files, all of which are there when the promise is kept; "" where
  // there are none. Attempts of one job share the work; what failed is tried again by the next.
  kj::Promise<Result<std::string>> Directory(JobId job, const std::vector<SideFile>& files);
  // Its files are no longer needed: their names go, also those that are being made; the cache stays.
  void EndJob(JobId job);

 private:
  void Linked(JobId job);  // one attempt no longer waits for its files
  void Remove(JobId job);
  kj::Promise<Status> Link(std::string directory, std::vector<SideFile> files, size_t next);

  const PostToPool post_;
  LibraryCache& cache_;
  const std::string directory_;
  struct OfJob {
    bool ready = false, ended = false;
    uint32_t linking = 0;  // attempts whose files are on their way
  };
  std::map<JobId, OfJob> jobs_;
};

}  // namespace mr::worker
