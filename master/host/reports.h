// Reports of workers about their attempts: feeds them to the core, and answers with verdicts.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "common/base/latency_histogram.h"
#include "master/host/dispatcher.h"
#include "master/host/driver.h"
#include "master/host/held_commits.h"
#include "master/host/host_clock.h"
#include "master/host/job_ends.h"
#include "master/host/kept_logs.h"
#include "master/host/output_probes.h"
#include "master/host/watchers.h"
#include "master/host/worker_calls.h"

namespace mr::master {

// Thread: the master's.
class Reports {
 public:
  Reports(Driver& driver, HostClock& clock, Dispatcher& dispatcher, Watchers& watchers, JobEnds& job_ends,
          OutputProbes& probes, KeptLogs& logs);

  // Feeds the reports in order. reply: at the end of this turn. A verdict that promises a record which is not durable
  // yet is kLater there, and follows as a message.
  void Report(uint64_t session, WorkerId worker, Incarnation incarnation, std::vector<NumberedReport> reports,
              std::function<void(ReportOut)> reply);
  void Progress(sched::AttemptProgress progress);
  // From the launch of an attempt to its start on the worker, as reported. For an attempt whose success is its first
  // report: up to that, less its duration on the worker. Attempts that fail, are killed or are refused before they
  // report a start are not counted.
  const LatencyHistogram& start_times() const { return start_times_; }
  // From the start of an attempt to the commit of its output.
  const LatencyHistogram& run_times() const { return run_times_; }
  // Each tick: feeds the reports of last tasks that waited for replicas of their job's output.
  void FeedHeld();

 private:
  struct Feeder;
  // Returns the sequence of the record that the verdict waits for; 0: none.
  uint64_t Feed(WorkerId worker, Incarnation incarnation, mr::Report report, Verdict* verdict);

  Driver& driver_;
  MasterCore& core_;
  HostClock& clock_;
  Dispatcher& dispatcher_;
  Watchers& watchers_;
  JobEnds& job_ends_;
  OutputProbes& probes_;
  KeptLogs& logs_;
  HeldCommits held_;
  LatencyHistogram start_times_{kAttemptBounds}, run_times_{kAttemptBounds};
};

}  // namespace mr::master
