// Words for people about a job: states of attempts, kinds of decisions, the state that is shown, ended jobs in brief.
#include <algorithm>

#include "master/core/jobs.h"

namespace mr::master {

const char* Word(AttemptState state) {
  switch (state) {
    case AttemptState::kRunning: return "running";
    case AttemptState::kWaiting: return "waiting";
    case AttemptState::kCommitted:
    case AttemptState::kReplica: return "committed";
    case AttemptState::kFailed: return "failed";
    case AttemptState::kKilled: return "killed";
  }
  return "?";
}

const char* Word(What what) {
  switch (what) {
    case What::kLaunched: return "launched";
    case What::kCommitted: return "committed";
    case What::kKeptAsReplica: return "kept as a further replica";
    case What::kRefused: return "refused";
    case What::kAskedToStop: return "asked to stop";
    case What::kTakenBack: return "taken back";
    case What::kBound: return "bound";
    case What::kReplicaDropped: return "replica dropped";
    case What::kStagePlanned: return "stage planned";
    case What::kJobCommitted: return "job committed";
    case What::kJobFailed: return "job failed";
    case What::kJobKilled: return "job killed";
    case What::kOtherContent: return "other content than before";
    case What::kTakenOver: return "taken over from another release";
    case What::kSpared: return "left alone";
    case What::kReplicated: return "replica requested";
    case What::kReplicaMade: return "replica made";
    case What::kReplicaNotMade: return "replica not made";
    case What::kAllotted: return "steered";
    case What::kOutputLost: return "output lost";
  }
  return "?";
}

JobState ShownState(const JobView& job) {
  if (Ended(job.state) && !job.told) return JobState::kRunning;
  if (job.state != JobState::kPending) return job.state;
  const bool started =
      std::any_of(job.notes.stages.begin(), job.notes.stages.end(), [](const StageNotes& s) { return s.started; }) ||
      std::any_of(job.stages.begin(), job.stages.end(), [](const StageView& s) { return s.committed > 0; });
  return started ? JobState::kRunning : JobState::kPending;
}

Status OnlyBrief(const JobView& job) {
  return NotFound(Name(job.id) + " ended long ago: its tasks, attempts, counters and reasons are kept for the newest " +
                  std::to_string(kWholeJobs) + " ended jobs; 'mrctl job show' shows what is left");
}

}  // namespace mr::master
