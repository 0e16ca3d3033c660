// Heartbeats: a thread, a loop and a connection of their own, so that no disk, no user code and no
// busy control loop delays them.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/base/time.h"
#include "common/rpc/hello.h"
#include "worker/daemon/disk_watch.h"
#include "worker/daemon/journal_seen.h"
#include "worker/daemon/types.h"

namespace mr::worker {

class Heartbeat {
 public:
  // Called on the heartbeat's thread. unknown: the master did not know the session when it answered the beat that was
  // sent at this time. silent: nothing was heard of it for the whole window, less the time in which this process stood
  // still; once, until it is heard again. contact: it answered, and knows this worker, what was sent at this time; with
  // the record that it says is durable. loop_silent: for how long the worker's control loop has not moved; told with
  // each beat, called at least once a second. room: of the worker's disk, told with each beat.
  Heartbeat(std::string master, std::function<void(Instant sent)> unknown, std::function<void()> silent,
            std::function<void(Instant sent, const JournalRecord& durable)> contact,
            std::function<Duration()> loop_silent, std::function<DiskRoom()> room);
  ~Heartbeat();  // joins
  // From now on beats as this one, this often. window: 0 = for ever. Any thread.
  void Set(const WorkerRef& self, uint64_t cluster_id, Duration period, Duration window);
  // When the last beat that was answered was sent. Any thread.
  Instant heard() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mr::worker
