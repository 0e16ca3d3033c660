// Workers that run no tasks, for benchmarks of a master: many in one process, on one thread. Each has a control and a
// heartbeat connection and speaks the protocol of control.capnp as mrworker does: it registers with its inventory,
// applies commands in their order, and reports starts, progress, reads and ends in batches. An attempt lasts for a
// drawn time, or until its inputs are complete if that is later. Its output is invented, and final stages write empty
// files below their staging directories.
//
// Differences to mrworker: a connection that breaks is not made again before Connect(), reports without a verdict are
// not repeated, and progress counts records only, so that it is sent once per second.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/base/status.h"
#include "common/base/time.h"

namespace mr::bench {

struct PlayerOptions {
  std::string master;  // host:port
  uint32_t workers = 1000, slots = 8;
  // An attempt lasts for a time drawn uniformly from [shortest, longest]. Both 0: it ends in the turn of its launch.
  Duration shortest, longest;
  uint64_t partition_bytes = 1 << 10;  // that each task reports for each partition
  uint64_t seed = 1;                   // of the drawn times
};

struct PlayerCounts {
  uint64_t registered = 0;  // workers with a session
  uint64_t launches = 0, winners = 0, killed = 0;
  uint64_t other_verdicts = 0;  // on finished attempts: their output was dropped, or differed
  uint64_t outputs = 0;         // in the inventories
  uint64_t report_calls = 0, progress_calls = 0, batches = 0, directory_entries = 0;
  uint64_t pushes = 0;         // of the batches: not with the answer to a report
  uint64_t unknown_beats = 0;  // beats whose answer was that the master does not know the worker
};

// Thread: one, besides the one that it owns.
class Players {
 public:
  explicit Players(PlayerOptions options);
  ~Players();
  Players(const Players&) = delete;
  Players& operator=(const Players&) = delete;

  // Connects and registers all workers, a few at a time, and waits until all have a session. Called again after the end
  // of the master. Errors: kDeadline after `limit`, with the last error of a worker.
  Status Connect(Duration limit);
  PlayerCounts counts() const;
  // Returns why the first connection broke since the last Connect(), or "".
  std::string broken() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mr::bench
