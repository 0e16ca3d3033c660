#include "jobs/mrctl/launch_source.h"

#include <stdlib.h>

#include <set>
#include <utility>

#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/local_names.h"
#include "jobs/mrctl/replay_upstream.h"
#include "jobs/mrctl/terminal_text.h"

namespace mr::ctl {

void RecordedLaunches::TakeEnvironment(ReplayTask* task) {
  for (KeyValue& variable : task->stage.env) {
    if (!variable.value.empty()) continue;
    const char* const value = getenv(variable.key.c_str());
    if (value != nullptr) {
      variable.value = value;
    } else if (unset_.insert(variable.key).second) {
      PrintErr("mrctl: warning: the run's record has no values of its --env variables, and $" + variable.key +
               " is not set: its tasks see an empty value\n");
    }
  }
}

Result<ReplayTask> RecordedLaunches::Launched(AttemptId attempt) {
  for (const report::RecordedLaunch& recorded : run_.launches) {
    if (recorded.launch.attempt.task != attempt.task) continue;
    ReplayTask task{recorded.stage, recorded.launch};
    task.launch.attempt = attempt;
    TakeEnvironment(&task);
    return task;
  }
  return NotFound("the run has no record of this attempt's launch");
}

Result<std::unique_ptr<dfs::BlockingDfs>> RecordedLaunches::Store() {
  return WithHint(Rejected("the attempt read a file of its run's own block store, which is gone"),
                  "run the job again with files of this machine as inputs");
}

std::string RecordedLaunches::Shown(const std::string& text) const {
  return WithLocalNames(text, run_.run.job.id, run_.run.job.local_id);
}

std::vector<report::RecordedLaunch> LaunchesToRecord(LaunchSource& source, JobId job) {
  constexpr size_t kMostFailed = 8, kMostLaunches = 2000;  // guesses: enough to see the fault; a few MB
  std::vector<report::RecordedLaunch> launches;
  const auto attempts = source.Attempts(job);
  if (!attempts.ok()) return launches;
  UpstreamTasks upstream(source);
  std::set<TaskId> failed;
  for (const AttemptStatus& attempt : *attempts) {
    const auto id = ParseAttemptId(attempt.id);
    if (attempt.state != "failed" || !id || failed.size() == kMostFailed || !failed.insert(id->task).second) continue;
    const auto task = source.Launched(*id);
    if (!task.ok()) continue;
    launches.push_back({task->stage, task->launch});
    // A task that cannot run again is reported by the replay.
    (void)upstream.Find(*task).ok();
  }
  if (upstream.count() + launches.size() > kMostLaunches) return {};
  for (const ReplayTask& task : upstream.tasks()) launches.push_back({task.stage, task.launch});
  return launches;
}

}  // namespace mr::ctl
