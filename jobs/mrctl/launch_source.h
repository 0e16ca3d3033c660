// Where a replay learns what attempts were launched with: a master, or the record of a local run.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/report/recorded_run.h"
#include "dfs/client/dfs_client.h"
#include "jobs/mrctl/client.h"
#include "jobs/mrctl/model.h"

namespace mr::ctl {

class LaunchSource {
 public:
  virtual ~LaunchSource() = default;
  // Errors: kNotFound for an unknown attempt, or one that is no longer kept.
  virtual Result<ReplayTask> Launched(AttemptId attempt) = 0;
  virtual Result<std::vector<AttemptStatus>> Attempts(JobId job) = 0;
  // The block store that has the inputs. Errors: kRejected if it is gone.
  virtual Result<std::unique_ptr<dfs::BlockingDfs>> Store() = 0;
  // Returns the text with the names of attempts that commands take.
  virtual std::string Shown(const std::string& text) const { return text; }
};

class ClusterLaunches : public LaunchSource {
 public:
  // The client is borrowed.
  explicit ClusterLaunches(Client& client) : client_(client) {}
  Result<ReplayTask> Launched(AttemptId attempt) override { return client_.Launched(attempt); }
  Result<std::vector<AttemptStatus>> Attempts(JobId job) override { return client_.Attempts(job); }
  Result<std::unique_ptr<dfs::BlockingDfs>> Store() override { return client_.Store(); }

 private:
  Client& client_;
};

class RecordedLaunches : public LaunchSource {
 public:
  explicit RecordedLaunches(report::RecordedRun run) : run_(std::move(run)) {}
  // Returns the launch of another attempt of the task if this one's is not recorded: they are alike. Variables have the
  // values of this process, since none are recorded; the first lack of each is reported.
  Result<ReplayTask> Launched(AttemptId attempt) override;
  Result<std::vector<AttemptStatus>> Attempts(JobId) override { return run_.run.attempts; }
  Result<std::unique_ptr<dfs::BlockingDfs>> Store() override;
  std::string Shown(const std::string& text) const override;

 private:
  void TakeEnvironment(ReplayTask* task);

  const report::RecordedRun run_;
  std::set<std::string> unset_;  // variables
};

// Returns the launches that replays of the failed attempts of a job need: of at most some attempts, and nothing if the
// tasks whose output they read are too many. For the record of a local run.
std::vector<report::RecordedLaunch> LaunchesToRecord(LaunchSource& source, JobId job);

}  // namespace mr::ctl
