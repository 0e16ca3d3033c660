// Detects from another thread that a loop is blocked: posts a closure to it and measures the time until it has run.
#pragma once

#include <atomic>
#include <memory>

#include "common/base/lived_clock.h"
#include "common/io/clock.h"
#include "common/rpc/kj_thread.h"

namespace mr::worker {

class LoopWatch {
 public:
  // loop: outlives this.
  explicit LoopWatch(rpc::KjThread& loop) : loop_(loop) {}

  // Returns for how long the loop has not run the closure; 0 while it runs. Time in which the caller's own thread stood
  // still does not count. Thread: always the same one, which calls at least once per second.
  Duration Silent() { return Silent(Now()); }
  Duration Silent(Instant now) {
    const Instant lived = clock_.Read(now);
    if (!asked_ || moved_->exchange(false)) {
      asked_ = true;
      since_ = lived;
      loop_.Post([moved = moved_] { moved->store(true); });  // one at a time: bounded
      return {};
    }
    return lived - since_;
  }

 private:
  rpc::KjThread& loop_;
  const std::shared_ptr<std::atomic<bool>> moved_ = std::make_shared<std::atomic<bool>>(false);
  LivedClock clock_{Now(), Millis(500), Seconds(2)};
  bool asked_ = false;
  Instant since_;  // when the closure was posted, on this thread's lived clock
};

}  // namespace mr::worker
