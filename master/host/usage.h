// How many slots there were and were busy, each second of the last ten minutes. For pages.
#pragma once

#include <deque>

#include "common/base/time.h"
#include "common/exec/loop.h"
#include "master/core/master_core.h"
#include "master/web/views.h"

namespace mr::master {

// Thread: the master's.
class Usage {
 public:
  Usage(const MasterCore& core, Loop& loop) : core_(core), loop_(loop) {}

  // Takes a sample each second. Sets its own timer. Cost: the workers.
  void Tick();
  // Takes a sample now.
  void Sample(uint64_t unix_ms);
  web::UsageView View() const;

 private:
  struct Point {
    uint32_t slots = 0, busy = 0, jobs = 0;
  };
  const MasterCore& core_;
  Loop& loop_;
  std::deque<Point> points_;
  uint64_t last_unix_ms_ = 0;
  Instant due_;  // the next sample
};

}  // namespace mr::master
