// What users and policies set of a running job: its priority, its deadline, the slots that it is guaranteed, and what
// is predicted of it.
#include "common/base/fields.h"
#include "master/sched/state.h"

namespace mr::sched {

namespace {

// Past ten years, or before the submit, is none: arithmetic with it overflows nowhere.
constexpr Duration kMostDeadline = Seconds(int64_t{10} * 366 * 86'400);

Duration Bounded(Duration deadline) { return deadline.ns > 0 && deadline <= kMostDeadline ? deadline : Duration{}; }

// Of rising times and finite worth; else none.
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

void State::ListGuarantee(const Job& job, bool in) {
  if (!job.running() || job.share == 0) return;
  if (in)
    guaranteed_.insert({job.due(), job.id});
  else
    guaranteed_.erase({job.due(), job.id});
}

void State::SetShare(JobId id, uint32_t slots) {
  ListGuarantee(JobOf(id), false);
  EditJob(id, [&](Job& job) { job.share = slots; });
  ListGuarantee(JobOf(id), true);
}

void State::SetPrediction(const ProfileLoaded& e) {
  EditJob(e.job, [&](Job& job) {
    job.prediction = e.prediction;
    job.utility = Usable(e.utility);
    job.prediction_hash = HashFields(e);
  });
}

void State::SetWishes(const JobSet& e, Instant now) {
  Job& job = JobOf(e.job);
  ListGuarantee(job, false);
  // Every index by priority, as if the job were not there.
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
  ListGuarantee(job, true);
}

std::string State::CheckGuarantees() const {
  std::set<std::pair<Instant, JobId>> guaranteed;
  for (const auto& [id, job] : jobs_) {
    if (job.running() && job.share > 0) guaranteed.insert({job.due(), id});
  }
  return guaranteed == guaranteed_ ? "" : "jobs with guaranteed slots are indexed wrong";
}

}  // namespace mr::sched
