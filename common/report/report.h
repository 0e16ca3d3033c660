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
// next command.
std::vector<std::string> Summary(const Report& report);

// A document has at most so many attempts and decisions. Of more, those on the critical path, those that were
// repeated, failed or stopped, and an even sample of the others are in it.
inline constexpr size_t kMostAttempts = 10'000;
inline constexpr size_t kMostDecisions = 20'000;

// Returns the document as one line of JSON.
std::string ReportJson(const Report& report);

}  // namespace mr::report
