// The source of a job's run for verbs that only look at it: the master, or the record of a local run. One place decides
// which of them a name means, so that these verbs work on both.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/report/recorded_run.h"
#include "jobs/mrctl/client.h"
#include "jobs/mrctl/config.h"
#include "jobs/mrctl/local_names.h"

namespace mr::ctl {

// Size of histories past which further jobs are left out (a guess: some hundred thousand attempts).
inline constexpr size_t kEnoughHistory = 64u << 20;

// Returns the history of a recorded run with a line that names the run, as mrsim reads it. Requires: it has a history.
std::string HistoryOf(const report::RecordedRun& recorded);

class RunSource {
 public:
  // Returns the source of a word: local_0017 is a file, other words name a job of the master (job_ref.h), and `last` is
  // either. A task or an attempt of a local run has the source of its run. Errors: those of JobIdOf and
  // LocalRuns::Find.
  static Result<RunSource> Open(const std::string& word, const Settings& settings);

  // Returns the id: job_1_0001 or local_0017.
  const std::string& name() const { return name_; }
  bool recorded() const { return client_ == nullptr; }
  // Each returns one part of the run. Errors: those of Client. A recorded run has all parts, except for the history of
  // a job that did not end: kRejected.
  Result<JobStatus> Job();
  Result<JobSpec> Spec();
  Result<std::vector<TaskStatus>> Tasks();
  Result<std::vector<AttemptStatus>> Attempts();
  Result<std::vector<CounterValue>> Counters();
  // counters: whether they are read, too.
  Result<report::JobRun> Run(bool counters = true);
  // Returns what the scheduler decided about the job, in lines.
  Result<std::vector<std::string>> Why();
  // Returns the same about a task or an attempt. Requires: the run is recorded. Errors: kNotFound.
  Result<std::vector<std::string>> Why(const LocalPart& part);
  // Returns a document of master/history that has the job and, from a master, jobs that ran beside it.
  Result<std::string> History();

 private:
  RunSource() = default;

  std::string name_;
  JobId id_;
  std::optional<report::RecordedRun> recorded_;
  std::unique_ptr<Client> client_;  // null: recorded
};

}  // namespace mr::ctl
