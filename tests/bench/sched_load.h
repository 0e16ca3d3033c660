// A synthetic load on the bare scheduler: jobs of maps and reduces on a cluster whose workers start, report
// and finish what they are told to, in virtual time. The host costs little beside the scheduler, and what
// it costs is counted as the scheduler's.
#pragma once

#include <cstdint>
#include <string>

namespace mr::bench {

struct Load {
  std::string policies = "fifo";
  uint32_t workers = 10'000, slots = 8, racks = 250;
  uint32_t jobs = 1'000, maps = 980, reduces = 20;
  // Jobs of one batch are submitted at once, the batches so many seconds apart.
  uint32_t batch = 1'000;
  double gap = 0;
  // Every second job, up to so many, has a prediction and a deadline of so many seconds or up to a third more. By these
  // 500 of them are guaranteed about half of the slots of 10,000 workers.
  uint32_t deadlines = 0, deadline = 1'200;
  // Seconds between a worker's frames of progress, each of which tells of all that it runs; 0: none at all. A real
  // worker sends one as soon as an attempt has moved by 5 % or for 1 s (worker/daemon/progress.h): of tasks that
  // take a minute one each second, and 60 reports for each start.
  double report_period = 1;
  double warm_seconds = 0;  // of virtual time, whose cost does not count
  uint64_t stop_after = 0;  // events, from the beginning; 0: to the end of all jobs
};

struct Cost {
  double cpu_seconds = 0;  // of the steps and of the host, without submission and planning
  double plan_seconds = 0;
  uint64_t events = 0, starts = 0, copies = 0, reports = 0;
  double virtual_seconds = 0;  // what is said above is of these
  uint64_t tasks_live = 0;     // not committed when memory was measured: once all slots are taken
  double bytes_per_live_task = 0;
  uint64_t looks = 0;  // State::looks
  uint64_t digest = 0;
};

// REQUIRES policies that sched::Scheduler::CheckPolicies takes.
Cost Run(const Load& load);

// Bytes of an attempt that runs and has reported eight times, with its task and all that the indexes say
// of the two, beyond an empty cluster.
double BytesPerRunningTask(const std::string& policies);

// Of sched::ProfileOf, which the master's thread waits for at a job's end: the median of some.
double ProfileCpuSeconds(uint32_t maps, uint32_t reduces);

// Of this thread.
double CpuSeconds();

}  // namespace mr::bench
