// Makes the inputs of an attempt again that reads the output of other tasks: runs these tasks on this machine, and
// those whose output they read.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "jobs/mrctl/launch_source.h"
#include "jobs/mrctl/render.h"
#include "jobs/mrctl/replay_files.h"

namespace mr::ctl {

class UpstreamTasks {
 public:
  // The source is borrowed.
  explicit UpstreamTasks(LaunchSource& source) : source_(source) {}

  // Finds the tasks whose output `task` reads. Errors: kRejected if one cannot run again: its launch is not known any
  // more, or it has side effects.
  Status Find(const ReplayTask& task);
  // Returns the number of these tasks, of all earlier stages.
  size_t count() const { return needed_.size(); }
  // Returns warnings about what may differ from the first run.
  std::vector<std::string> Warnings() const;
  // Returns them, those of earlier stages first.
  std::vector<ReplayTask> tasks() const;

  struct Places {
    std::string directory;   // gets the outputs
    std::string library;     // of `task` itself
    std::string given;       // --lib, or empty
    std::string side_files;  // a directory, or empty
  };
  // Runs them, several at a time. Returns the segments that `task` reads. Errors: kRejected if one fails here.
  Result<std::vector<ReplaySegment>> Make(const ReplayTask& task, const Places& places);

 private:
  struct Needed {
    std::string attempt;
    ReplayTask task;
    std::set<uint32_t> partitions;  // to keep
  };
  using Key = std::pair<uint32_t, uint32_t>;  // stage and task; stages read only earlier ones
  struct Running {
    Key key;
    int pid = 0;
  };
  Status FindAttempts(JobId job);
  Result<Needed> FindTask(JobId job, Key key);
  std::string DirectoryOf(Key key, const std::string& what) const;
  std::vector<ReplaySegment> SegmentsOf(const ReplayTask& task) const;
  Result<Running> Start(Key key, const Needed& needed, SplitFetcher* fetcher);
  Status Await(const Running& running);

  LaunchSource& source_;
  Places places_;
  bool listed_ = false;
  std::map<Key, AttemptStatus> attempts_;  // of each task, the one that won, or any
  std::map<Key, Needed> needed_;
  std::map<std::string, std::string> libraries_;  // paths by SHA-256; each is compared with --lib once
};

}  // namespace mr::ctl
