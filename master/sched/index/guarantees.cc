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

void State::CountGuarantee(Job& job) {
  using Place = GuaranteeCount::Place;
  if (job.share == 0 && !job.guarantee.listed) return;
  GuaranteeCount now;
  if (job.running() && job.share > 0) {
    now.listed = true;
    now.due = job.due();
    now.held = sharing_.by_kind ? job.held[KindIndex(SlotKind::kMap)] : job.holding;
    now.within = std::min(job.share, now.held);
    const bool ready = job.ready_stages[0] + job.ready_stages[1] > 0;
    if (ready) now.place = BelowGuarantee(job) ? Place::kWanting : Place::kSpare;
  }
  GuaranteeCount& was = job.guarantee;
  if (now == was) return;
  const auto move = [&](bool in, bool is, ByDeadline* index) {
    if (in && is && was.due == now.due) return;
    if (in) index->erase({was.due, job.id});
    if (is) index->insert({now.due, job.id});
  };
  move(was.listed, now.listed, &guaranteed_);
  move(was.place == Place::kWanting, now.place == Place::kWanting, &wanting_);
  if (was.place != Place::kWanting && now.place == Place::kWanting) ++wants_count_;
  move(was.place == Place::kSpare, now.place == Place::kSpare, &spare_);
  within_guarantees_ += now.within - was.within;
  job.in_queue->guaranteed += now.held - was.held;
  was = now;
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

std::string State::CheckGuarantees() const {
  ByDeadline guaranteed, wanting, spare;
  std::map<const Queue*, uint32_t> held;
  uint32_t within = 0;
  for (const auto& [id, job] : jobs_) {
    if (!job.running() || job.share == 0) continue;
    const std::pair entry(job.due(), id);
    guaranteed.insert(entry);
    const bool ready =
        std::any_of(job.stages.begin(), job.stages.end(), [](const Stage& stage) { return stage.in_ready; });
    if (ready) (BelowGuarantee(job) ? wanting : spare).insert(entry);
    const uint32_t slots = sharing_.by_kind ? job.held[KindIndex(SlotKind::kMap)] : job.holding;
    held[job.in_queue] += slots;
    within += std::min(job.share, slots);
  }
  bool right = guaranteed == guaranteed_ && wanting == wanting_ && spare == spare_ && within == within_guarantees_;
  for (const auto& [name, queue] : queues_) right = right && queue.guaranteed == held[&queue];
  return right ? "" : "jobs with guaranteed slots are indexed wrong";
}

}  // namespace mr::sched
