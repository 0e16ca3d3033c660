#include "jobs/mrctl/local_record.h"

#include "common/io/clock.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/follow.h"
#include "jobs/mrctl/launch_source.h"
#include "jobs/mrctl/local_names.h"
#include "jobs/mrctl/local_runs.h"
#include "jobs/mrctl/read_run.h"
#include "jobs/mrctl/terminal_text.h"
#include "jobs/mrctl/wait.h"

namespace mr::ctl {
namespace {

// Time to read what is left of a job that was stopped (a guess: a kill takes some milliseconds).
constexpr Duration kStopLimit = Seconds(1);

}  // namespace

Result<report::RecordedRun> ReadRecord(Client& client, JobId id) {
  report::RecordedRun recorded;
  MR_ASSIGN_OR_RETURN(recorded.run, ReadRun(client, id));
  MR_ASSIGN_OR_RETURN(recorded.why, client.Why(Name(id)));
  auto history = client.History(id);
  if (history.ok()) recorded.history = std::move(history->head) + std::move(history->text);
  report::JobRun& run = recorded.run;
  run.gone = true;
  if (!Ended(run.job.state)) {
    run.job.state = JobState::kKilled;
    run.job.error = "its local cluster was stopped";
  }
  report::EndWork(&run);
  if (run.job.state == JobState::kFailed) {
    ClusterLaunches source(client);
    recorded.launches = LaunchesToRecord(source, id);
  }
  if (run.job.state != JobState::kSucceeded) run.job.error = EndFailure(run.job, "").message;
  return recorded;
}

void StopLocalJob(Client& client, JobId id, const std::string& why) {
  WaitOnceMore(kStopLimit);
  const Instant limit = Now() + kStopLimit;
  if (!client.Watch(id).ok() || !client.Kill(id, why).ok()) return;
  while (Now() < limit) {
    const auto status = client.NextStatus(limit);
    if (!status.ok() || (status->has_value() && Ended((*status)->state))) break;
  }
  WaitOnceMore(kStopLimit);
}

LocalRunName::LocalRunName(const Settings& settings) : settings_(settings) {
  if (settings.keep_runs == 0) return;
  const auto number = settings.runs_directory.empty()
                          ? Result<uint32_t>(NotFound("neither XDG_STATE_HOME nor HOME is set"))
                          : LocalRuns(settings.runs_directory).Reserve();
  if (number.ok())
    number_ = *number;
  else
    Warn(number.status());
}

LocalRunName::~LocalRunName() {
  if (number_ != 0 && !stored_) LocalRuns(settings_.runs_directory).Release(number_);
}

std::string LocalRunName::text() const { return number_ == 0 ? std::string(kUnrememberedRun) : LocalName(number_); }

void LocalRunName::Store(const report::RecordedRun& recorded) {
  if (number_ == 0) return;
  const Status done = LocalRuns(settings_.runs_directory).Store(number_, recorded, settings_.keep_runs);
  stored_ = done.ok();
  if (!stored_) Warn(done);
}

void LocalRunName::Warn(const Status& why) const {
  PrintErr("mrctl: warning: the run will not be remembered: " + why.message() + "\n");
}

}  // namespace mr::ctl
