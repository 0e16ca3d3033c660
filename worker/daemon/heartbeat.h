// Sends heartbeats on a thread, loop and connection of their own, so that no disk, user code or busy control loop
// delays them.
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
  // The callbacks run on the heartbeat's thread.
  // unknown: the master answered the beat that was sent at this time, and did not know the session.
  // silent: the master has not answered for the whole window, not counting time in which this process stood still.
  // Called once, until the master answers again.
  // contact: the master answered the beat that was sent at this time, and knows this worker. durable: the record that
  // it reports as durable.
  // loop_silent: returns for how long the worker's control loop has not moved. Part of each beat; called at least once
  // per second.
  // room: returns the space on the worker's disk. Part of each beat.
  Heartbeat(std::string master, std::function<void(Instant sent)> unknown, std::function<void()> silent,
            std::function<void(Instant sent, const JournalRecord& durable)> contact,
            std::function<Duration()> loop_silent, std::function<DiskRoom()> room);
  ~Heartbeat();  // joins
  // Sets the identity, the period and the window of all further beats, and beats soon. window: 0 = no limit. Any
  // thread.
  void Set(const WorkerRef& self, uint64_t cluster_id, Duration period, Duration window);
  // Returns the send time of the last beat that was answered. Any thread.
  Instant heard() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mr::worker
