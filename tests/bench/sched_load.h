// A synthetic load on the bare scheduler: jobs of maps and reduces on a cluster whose workers carry out its decisions
// in virtual time. The host costs little beside the scheduler, and its cost counts as the scheduler's.
#pragma once

#include <cstdint>
#include <string>

namespace mr::bench {

struct Load {
  std::string policies = "fifo";
  uint32_t workers = 10'000, slots = 8, racks = 250;
  uint32_t jobs = 1'000, maps = 980, reduces = 20;
  // Jobs of one batch are submitted at once, with `gap` seconds between batches.
  uint32_t batch = 1'000;
  double gap = 0;
  // Every second job, up to `deadlines` of them, has a prediction and a deadline of `deadline` seconds or up to a third
  // more. With 500, they are guaranteed about half of the slots of 10,000 workers.
  uint32_t deadlines = 0, deadline = 1'200;
  // Seconds between a worker's progress frames; each frame reports all attempts of the worker. 0: no frames. A real
  // worker sends a frame once an attempt moved by 5 % or 1 s has passed (worker/daemon/progress.h). For tasks of a
  // minute that is one per second, and 60 reports per start.
  double report_period = 1;
  double warm_seconds = 0;  // virtual time whose cost does not count
  uint64_t stop_after = 0;  // events from the begin; 0: until all jobs end
};

struct Cost {
  double cpu_seconds = 0;  // of the steps and the host, without submission and planning
  double plan_seconds = 0;
  uint64_t events = 0, starts = 0, speculative = 0, reports = 0;
  double virtual_seconds = 0;  // virtual time of the costs above
  uint64_t tasks_live = 0;     // tasks not committed when memory was measured, once all slots were taken
  double bytes_per_live_task = 0;
  uint64_t looks = 0;  // State::looks
  uint64_t digest = 0;
};

// Runs the load. Requires: sched::Scheduler::CheckPolicies accepts the policies.
Cost Run(const Load& load);

// Returns the bytes of a running attempt that has reported eight times, with its task and index entries, beyond an
// empty cluster.
double BytesPerRunningTask(const std::string& policies);

// Returns the median CPU seconds of sched::ProfileOf, which runs on the master's thread at a job's end.
double ProfileCpuSeconds(uint32_t maps, uint32_t reduces);

// Returns this thread's CPU time.
double CpuSeconds();

}  // namespace mr::bench
