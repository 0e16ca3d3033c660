// The report of a job: its run, where the time went, what was done about it, and what would help. As a document
// (jobs/mrctl/schema/report.json), as a page for a browser, and in five lines for a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "common/report/critical_path.h"
#include "common/report/findings.h"
#include "common/report/job_run.h"
#include "common/report/timeline.h"

namespace mr::report {

// The parts of a report. Points into the JobRun, which must outlive it. Cost: some microseconds per attempt.
struct Report {
  explicit Report(const JobRun& of);
  const JobRun& run;
  Timeline timeline;
  CriticalPath path;
  std::vector<Finding> findings;
};

// Returns five lines: how it ended, where the time went, what was done against stragglers, what would help, and the
// next command. The last one is absent where the master is gone and the run is not recorded. The time of internal
// stages (internal_stages.h) is one number; all_stages: a number for each.
std::vector<std::string> Summary(const Report& report, bool all_stages = false);

// Returns what was decided about a task or an attempt, and how its attempts ended, in lines ordered by time. Empty: the
// run has no such task or attempt. name: as the run's attempts have it. attempt: whether it is one.
std::vector<std::string> WhyOf(const JobRun& run, const std::string& name, bool attempt);

// A document has at most so many of each. Of more attempts, it has even samples of those that failed, of those on the
// critical path, of other unusual ones and of the rest, with more room for the former. Of more decisions, it has those
// about the job and an even sample of the others. Of more segments, it has the last ones.
inline constexpr size_t kMostAttempts = 10'000;
inline constexpr size_t kMostDecisions = 20'000;
inline constexpr size_t kMostSegments = 2'000;

// Returns the document as one line of JSON.
std::string ReportJson(const Report& report);

}  // namespace mr::report
