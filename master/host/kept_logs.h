// The ends of logs that the master keeps, mostly of failed attempts: they can be read when their worker is gone. Files
// below DIR/logs, one per attempt; they are expendable, and neither the journal nor the core knows them. A failure to
// write one is logged and has no other effect.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/io/attempt_log.h"
#include "common/io/retention.h"
#include "master/core/master_core.h"
#include "master/host/outlets.h"

namespace mr::master {

// The end of a log, as its worker sent it.
struct LogEnd {
  std::string text;
  uint64_t log_bytes = 0;  // of the whole log
  bool failed = false;     // its attempt failed
};

// The files. Thread-safe; all functions block.
class LogFiles {
 public:
  // Guesses. Most bytes per job: 256 long logs, or 4,096 short ones, which count a disk block each. Half of it is for
  // failed attempts alone.
  static constexpr uint64_t kJobBytes = 16u << 20, kFileBytes = 4096;

  explicit LogFiles(std::string directory) : directory_(std::move(directory)) {}

  // Stores the end of a log under this name of its attempt, instead of an earlier one. A log beyond the limit of its
  // job is dropped: the first failures of a job explain more than the last. Errors: those of the file system.
  Status Put(const std::string& name, const LogEnd& end);
  // Returns the kept text from byte `from` of the log on, or all of it (kLogEnd). Errors: kNotFound.
  Result<LogPiece> Get(AttemptId attempt, uint64_t from) const;
  // Removes logs of other jobs than these, and the oldest ones beyond the limits. Returns how many.
  size_t Trim(const std::set<JobId>& jobs, const RetentionLimits& limits, int64_t now_ms);

 private:
  const std::string directory_;
  std::mutex mutex_;
  std::map<JobId, uint64_t> bytes_;  // as counted since the last Trim; guarded by mutex_
};

// Thread: the master's, except files().
class KeptLogs {
 public:
  KeptLogs(const std::string& directory, const RetentionLimits& limits, const MasterCore& core, Outlets& outlets);

  // Keeps the end of a log that this worker sent. Returns false if the master does not know this attempt of the worker.
  bool Keep(const AttemptId& attempt, WorkerId worker, LogEnd end);
  // Reads the kept end of a log. `done` is called once, on a pool thread. Errors: kNotFound.
  void Read(const AttemptId& attempt, std::function<void(Result<LogPiece>)> done) const;
  // Removes logs of jobs that are forgotten or kept in brief, and the oldest ones beyond the limits.
  void Trim();
  // For threads that may wait.
  const std::shared_ptr<LogFiles>& files() const { return files_; }

 private:
  const RetentionLimits limits_;
  const MasterCore& core_;
  Outlets& outlets_;
  const std::shared_ptr<LogFiles> files_;
  const std::shared_ptr<std::atomic<int>> writing_;  // files that wait for the disk
};

}  // namespace mr::master
