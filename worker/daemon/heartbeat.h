// Heartbeats: a thread, a loop and a connection of their own, so that no disk, no user code and no
// busy control loop delays them.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/base/time.h"
#include "common/rpc/hello.h"
#include "worker/daemon/types.h"

namespace mr::worker {

class Heartbeat {
 public:
  // Called on the heartbeat's thread. unknown: the master does not know the session any more. silent:
  // nothing was heard of it for the whole window; once, until it is heard again. contact: it answered, and knows this
  // worker, what was sent at this time.
  Heartbeat(std::string master, std::function<void()> unknown, std::function<void()> silent,
            std::function<void(Instant sent)> contact);
  ~Heartbeat();  // joins
  // From now on beats as this one, this often. window: 0 = for ever. Any thread.
  void Set(const WorkerRef& self, uint64_t cluster_id, Duration period, Duration window);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mr::worker
