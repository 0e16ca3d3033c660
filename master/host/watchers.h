// Pushes the status of jobs to the clients that watch them, at most once per 50 ms, and the end of a job at once.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/exec/loop.h"
#include "common/model/caller.h"
#include "master/core/master_core.h"
#include "master/host/host_clock.h"
#include "master/host/job_reader.h"
#include "master/host/outlets.h"

namespace mr::master {

// Thread: the master's.
class Watchers {
 public:
  Watchers(MasterCore& core, HostClock& clock, Loop& loop, Outlets& outlets, const JobReader& reader);

  // The watcher's first push follows at the end of this turn. Errors: kNotFound.
  Status Watch(uint64_t watcher, JobId job, const Caller& caller);
  // The watcher has taken its last push.
  void Pushed(uint64_t watcher);
  void Unwatch(uint64_t watcher);
  // The job's status may have changed in this turn.
  void MarkChanged(JobId job) { changed_.insert(job); }
  // End of a turn: pushes what is due.
  void PushDue();

 private:
  struct Watcher {
    JobId job;
    bool dirty = true, in_flight = false;
    Instant last_push;
  };

  MasterCore& core_;
  HostClock& clock_;
  Loop& loop_;
  Outlets& outlets_;
  const JobReader& reader_;
  std::map<uint64_t, Watcher> watchers_;
  std::set<JobId> changed_;
  bool push_timer_ = false;
};

}  // namespace mr::master
