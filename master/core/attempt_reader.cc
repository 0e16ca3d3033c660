#include "master/core/attempt_reader.h"

#include <algorithm>

namespace mr::master {

std::optional<AttemptView> AttemptReader::Find(const AttemptId& id) const {
  const sched::Attempt* attempt = state_.FindAttempt(id);
  const JobView* job = jobs_.Find(id.task.job);
  if (attempt == nullptr || job == nullptr || job->brief) return std::nullopt;
  return ViewOf(id, *attempt, job->notes.Find(id));
}

std::vector<AttemptView> AttemptReader::Of(JobId id, const AttemptId& after, size_t most) const {
  std::vector<AttemptView> all;
  const sched::Job* job = state_.FindJob(id);
  if (job == nullptr || !jobs_.Whole(id)) return all;
  // Numbers of attempts begin at 1: all of them are behind the zero of the first task.
  const AttemptId first = after.valid() ? after : AttemptId{{id, 0, 0}, 0};
  for (uint32_t s = first.task.stage; s < job->stages.size(); ++s) {
    const std::vector<sched::Task>& tasks = job->stages[s].tasks;
    for (uint32_t t = s == first.task.stage ? first.task.task : 0; t < tasks.size() && all.size() < most; ++t) {
      const bool begins = s == first.task.stage && t == first.task.task;
      Add({id, s, t}, tasks[t], begins ? first.number : 0, most, &all);
    }
  }
  return all;
}

std::vector<AttemptView> AttemptReader::Of(const TaskId& id) const {
  std::vector<AttemptView> all;
  const sched::Task* task = state_.FindTask(id);
  if (task != nullptr && jobs_.Whole(id.job)) Add(id, *task, 0, SIZE_MAX, &all);
  return all;
}

StageCounts AttemptReader::Counts(const JobView& job, uint32_t stage) const {
  const sched::Job* known = state_.FindJob(job.id);
  if (known == nullptr) return {.done = job.stages[stage].committed};
  const sched::Stage& of = known->stages[stage];
  StageCounts counts{.done = of.committed};
  for (const auto& [task, number] : of.active) {
    const AttemptId id{{job.id, stage, task}, number};
    const sched::Attempt& attempt = *state_.FindAttempt(id);
    // An attempt that has read its inputs does not wait: its note need not be looked up.
    const bool waits = !attempt.inputs_done && ViewOf(id, attempt, job.notes.Find(id)).state == AttemptState::kWaiting;
    ++(waits ? counts.waiting : counts.running);
  }
  return counts;
}

UnneededTime AttemptReader::Unneeded(const JobView& job, Instant now) const {
  UnneededTime time;
  const sched::Job* known = state_.FindJob(job.id);
  if (known == nullptr) return time;
  const bool decided = Ended(job.state) || job.state == JobState::kCommitting;
  for (uint32_t s = 0; s < known->stages.size(); ++s) {
    for (const auto& [task, number] : known->stages[s].active) {
      const AttemptId id{{job.id, s, task}, number};
      const sched::Attempt& attempt = *state_.FindAttempt(id);
      if (!decided && attempt.state != sched::AttemptState::kEnding) continue;
      const Duration held = std::max(Duration{}, now - attempt.launched_at);
      Duration& cause = time.by_cause[CauseIndex(attempt.cause)];
      cause = cause + held;
      bool cloned = false, lent = false;
      for (const sched::Attempt& other : state_.FindTask(id.task)->attempts) {
        cloned = cloned || other.cause == Cause::kClone;
        lent = lent || other.cause == Cause::kOpportunistic;
      }
      if (cloned) time.cloned = time.cloned + held;
      if (lent && !cloned) time.lent = time.lent + held;
    }
  }
  return time;
}

uint32_t AttemptReader::Live(JobId job) const {
  const sched::Job* known = state_.FindJob(job);
  return known == nullptr ? 0 : known->holding;
}

void AttemptReader::Add(const TaskId& id, const sched::Task& task, uint32_t after, size_t most,
                        std::vector<AttemptView>* all) const {
  const JobNotes& notes = jobs_.Find(id.job)->notes;
  for (const sched::Attempt& attempt : task.attempts) {
    const AttemptId attempt_id{id, attempt.number};
    if (attempt.number > after && all->size() < most)
      all->push_back(ViewOf(attempt_id, attempt, notes.Find(attempt_id)));
  }
}

}  // namespace mr::master
