// Counts the slots that there are and that each job holds, each second of the last ten minutes. For pages.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "common/base/ids.h"
#include "common/base/time.h"
#include "common/exec/loop.h"
#include "master/core/master_core.h"
#include "master/web/views.h"

namespace mr::master {

// Thread: the master's.
class Usage {
 public:
  Usage(const MasterCore& core, Loop& loop) : core_(core), loop_(loop) {}

  // Takes a sample each second. Sets its own timer. Cost: the workers, and the open jobs.
  void Tick();
  // Takes a sample now.
  void Sample(uint64_t unix_ms);
  // Returns the samples, with those of the jobs that held the most slots.
  web::UsageView View() const;

 private:
  struct Point {
    uint32_t slots = 0, busy = 0, jobs = 0;
    std::vector<std::pair<JobId, uint32_t>> held;  // slots per job, the most first
  };
  std::vector<std::pair<JobId, uint32_t>> HeldByJobs() const;

  const MasterCore& core_;
  Loop& loop_;
  std::deque<Point> points_;
  uint64_t last_unix_ms_ = 0;
  Instant due_;  // the next sample
};

}  // namespace mr::master
