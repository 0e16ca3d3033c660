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
  // unknown: the master does not know the session any more; called on the heartbeat's thread.
  Heartbeat(std::string master, std::function<void()> unknown);
  ~Heartbeat();  // joins
  // From now on beats as this one, this often. Any thread.
  void Set(const WorkerRef& self, uint64_t cluster_id, Duration period);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mr::worker
