// Provides the side files of jobs. Their bytes come by SHA-256 from the cache of operator libraries. Until a job ends,
// DIR/JOB has links to them under the job's own names. The files are read-only. Lives on the loop.
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
  // directory: its owner empties it at the worker's start.
  SideFiles(PostToPool post, LibraryCache& cache, const std::string& directory);

  // Returns the absolute path of the directory when all these files are present; "" if there are none. Attempts of one
  // job share the work. The next call retries what failed.
  kj::Promise<Result<std::string>> Directory(JobId job, const std::vector<SideFile>& files);
  // Removes the job's links, even those being made. The cache keeps the bytes.
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
    uint32_t linking = 0;  // attempts whose files are being linked
  };
  std::map<JobId, OfJob> jobs_;
};

}  // namespace mr::worker
