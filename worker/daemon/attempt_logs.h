// Reads the logs of attempts for the master, and gives it their ends when this worker is drained or shuts down. Thread:
// the loop; files are read on the pool.
#pragma once

#include <kj/async.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/io/attempt_log.h"
#include "common/rpc/kj_thread.h"
#include "worker/shuffle/on_pool.h"

namespace mr::worker {

class AttemptLogs {
 public:
  struct Options {
    std::string directory;
    // Returns whether the attempt runs here.
    std::function<bool(AttemptId)> runs;
    // Gives the master the end of a log. Returns whether the master knows the attempt.
    std::function<kj::Promise<Result<bool>>(AttemptId, const std::string& log, uint64_t log_bytes, bool failed)> keep;
  };
  AttemptLogs(rpc::KjThread& loop, PostToPool post, Options options);

  // Returns the log from byte `from` on, as ReadLog does. If there is nothing yet and the attempt runs here, waits for
  // more, at most for `wait`. ended: the attempt does not run here. Errors: those of ReadLog; a running attempt without
  // a log has an empty one.
  kj::Promise<Result<LogPiece>> Read(AttemptId attempt, uint64_t from, Duration wait);

  // Gives the master the ends of the newest logs of ended attempts, failed ones first. Skips logs that it has given
  // since they were last written. No effect while that is under way.
  void Give();
  // Returns whether the last Give() has ended.
  bool idle() const { return !giving_; }

 private:
  struct Log {
    StoredFile file;
    AttemptId attempt;
    bool failed = false;
  };
  kj::Promise<Result<LogPiece>> ReadUntil(AttemptId attempt, uint64_t from, Instant limit);
  kj::Promise<void> GiveNext(const std::shared_ptr<std::vector<Log>>& logs, size_t next);

  rpc::KjThread& loop_;
  const PostToPool post_;
  const Options options_;
  bool giving_ = false;
  std::map<std::string, int64_t> given_;  // name to time of the last change
  kj::Promise<void> task_ = kj::READY_NOW;
};

}  // namespace mr::worker
