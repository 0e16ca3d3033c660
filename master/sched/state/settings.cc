// User and policy settings of a running job: its priority, its deadline, its guaranteed slots, and its prediction.
#include <algorithm>

#include "common/base/check.h"
#include "common/base/fields.h"
#include "master/sched/state/state.h"

namespace mr::sched {

namespace {

// A deadline past ten years, or before the submit, counts as none: arithmetic with it overflows nowhere.
constexpr Duration kMostDeadline = Seconds(int64_t{10} * 366 * 86'400);

Duration Bounded(Duration deadline) { return deadline.ns > 0 && deadline <= kMostDeadline ? deadline : Duration{}; }

// Returns the points if their times ascend and their values are finite; else none.
std::vector<UtilityPoint> Usable(const std::vector<UtilityPoint>& points) {
  Duration before{-1};
  for (const UtilityPoint& p : points) {
    const bool fits = p.at > before && p.at <= kMostDeadline && p.utility > -1e12 && p.utility < 1e12;
    if (!fits) return {};
    before = p.at;
  }
  return points;
}

}  // namespace

void State::TakeWishes(const JobSubmitted& e, Job* job) {
  job->priority = e.priority;
  job->deadline = Bounded(e.deadline);
}

void State::SetShare(JobId id, uint32_t slots) {
  Job& job = JobOf(id);
  RankJob(job, -1);
  EditJob(id, [&](Job& j) { j.share = slots; });
  RankJob(job, +1);
  CountGuarantee(job);
}

void State::SetPrediction(const ProfileLoaded& e) {
  EditJob(e.job, [&](Job& job) {
    MR_CHECK(e.prediction.Valid(job.stages.size()), "a prediction that is Valid");
    job.prediction = e.prediction;
    job.utility = Usable(e.utility);
    job.prediction_hash = HashFields(e);
  });
}

void State::SetWishes(const JobSet& e, Instant now) {
  Job& job = JobOf(e.job);
  // Takes the job out of every index by priority, as if it were not there.
  const JobState was = job.state;
  std::vector<uint32_t> speculable;
  for (uint32_t s = 0; s < job.stages.size(); ++s) {
    if (job.stages[s].statistics.speculable()) speculable.push_back(s);
  }
  for (const uint32_t s : speculable) SetSpeculable(job, s, false);
  EditJob(e.job, [](Job& j) { j.state = JobState::kKilled; });
  RefreshAll(job);
  EditJob(e.job, [&](Job& j) {
    j.state = was;
    j.priority = e.priority;
    if (j.deadline != e.deadline) j.utility.clear();
    j.deadline = Bounded(e.deadline);
    if (e.elapsed.ns > 0 && e.elapsed.ns <= now.ns) j.submitted_at = Instant{} + (now - Instant{} - e.elapsed);
  });
  RefreshAll(job);
  for (const uint32_t s : speculable) SetSpeculable(job, s, true);
  CountGuarantee(job);
}

}  // namespace mr::sched
