// The owners of the jobs whose logs of attempts are here. A file keeps them: logs outlive their jobs and this process.
// Thread: the loop.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>

#include "common/base/ids.h"

namespace mr::worker {

class LogOwners {
 public:
  // Reads the file at `path`: lines with a job and its owner. Lines that it cannot read are left out: the logs of such
  // jobs count for nobody. A last line without its end is removed from the file. Blocks.
  explicit LogOwners(std::string path);

  // Adds a job of this owner. A line is appended where the job is new; it is not synced.
  void Note(JobId job, const std::string& owner);
  // Removes jobs without logs.
  void Forget(const std::set<JobId>& jobs);
  const std::map<JobId, std::string>& all() const { return owners_; }

 private:
  void Rewrite();

  const std::string path_;
  std::map<JobId, std::string> owners_;
  size_t lines_ = 0;  // of the file
  bool cut_ = false;  // its last line may have no end
};

}  // namespace mr::worker
