// The files that a replay of an attempt needs on this machine: library, side files, the bytes of its splits.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/io/files.h"
#include "dfs/client/dfs_client.h"
#include "jobs/mrctl/launch_source.h"
#include "jobs/mrctl/render.h"

namespace mr::ctl {

// A private directory that is removed with the object.
class ReplayDirectory {
 public:
  ReplayDirectory() = default;
  ~ReplayDirectory() {
    if (!path_.empty()) (void)RemoveTree(path_);
  }
  ReplayDirectory(const ReplayDirectory&) = delete;
  ReplayDirectory& operator=(const ReplayDirectory&) = delete;
  Status Make();
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Links the job's side files under their names into `directory`, checked by their digests. Makes the directory only if
// the job has side files. words: of --files. Errors: kInvalidArgument, if files are missing, differ, or are too many.
Status LinkSideFiles(const ReplayTask& task, const std::vector<std::string>& words, const std::string& directory);

// Returns the library for the replay: the built-in one for its operators, whatever is given; else the given one.
// Another build than the attempt ran is reported and taken, since it tries a repaired operator. Errors:
// kInvalidArgument, if one is missing.
Result<std::string> LibraryOf(const ReplayTask& task, const std::string& given);

// Fetches splits into files on this machine.
class SplitFetcher {
 public:
  // The source is borrowed.
  explicit SplitFetcher(LaunchSource& source) : source_(source) {}
  // Returns a file for each split of the task, with the bytes after its end that complete its last record. Files of
  // this machine are returned as they are; others are fetched into `directory`. Errors: kRejected for a local file that
  // has changed; those of the block store.
  Result<std::vector<ReplayFile>> Fetch(const ReplayTask& task, const std::string& directory);

 private:
  LaunchSource& source_;
  std::unique_ptr<dfs::BlockingDfs> store_;
};

}  // namespace mr::ctl
