// How a job ends, and how it is forgotten: the two walks over all of its tasks.
#include <algorithm>

#include "common/base/check.h"
#include "common/base/prefetch.h"
#include "master/sched/state.h"

namespace mr::sched {

namespace {

// Ended jobs stay readable for status pages while both hold. Guesses: a screen of jobs, and the
// memory of one large job.
constexpr size_t kEndedJobsKept = 1000;
constexpr size_t kEndedTasksKept = 100'000;

size_t TasksOf(const Job& job) {
  size_t tasks = 0;
  for (const Stage& s : job.stages) tasks += s.tasks.size();
  return tasks;
}

}  // namespace

// Of a walk over tasks: where their copies are said to be, then the workers, then the ends of these workers'
// lists. They lie all over the memory, and to wait for one after the other is most of what the walk costs.
void State::FetchAhead(const std::vector<Task>& tasks, uint32_t t) const {
  constexpr size_t kAhead = 6;  // a guess: what one task takes, so many times, is longer than a look at memory
  const auto at = [&](size_t n) -> const std::vector<CopyPlace>* {
    return t + n * kAhead < tasks.size() ? &tasks[t + n * kAhead].copies : nullptr;
  };
  if (const auto* copies = at(3)) __builtin_prefetch(copies->data());
  if (const auto* copies = at(2)) {
    for (const CopyPlace& place : *copies) __builtin_prefetch(&FindWorker(place.worker)->copies);
  }
  if (const auto* copies = at(1)) {
    for (const CopyPlace& place : *copies) FindWorker(place.worker)->copies.Fetch();
  }
}

void State::EndJob(JobId id, JobState state, const std::string& message, Instant now) {
  Job& job = JobOf(id);
  for (uint32_t s = 0; s < job.stages.size(); ++s) {
    for (uint32_t t = 0; t < job.stages[s].tasks.size(); ++t) {
      const TaskId task{id, s, t};
      FetchAhead(job.stages[s].tasks, t);
      ReleaseTask(task);
      while (!TaskOf(task).copies.empty()) RemoveCopy(task, TaskOf(task).copies.back());
      Index(job, task, TaskOf(task), false);
    }
  }
  for (const AskedCopy& copy : job.asked) digest_ -= Hash(id, copy);
  job.asked.clear();
  DropStatistics(job);
  EditJob(id, [&](Job& j) {
    j.state = state;
    j.message = message;
    j.ended_at = now;
  });
  CountGuarantee(job);
  for (uint32_t s = 0; s < job.stages.size(); ++s) {
    for (uint32_t t = 0; t < job.stages[s].tasks.size(); ++t) {
      Index(job, {id, s, t}, job.stages[s].tasks[t], true);
    }
  }
  RefreshAll(job);
  if (job.holding == 0) LeaveQueue(job);
  ended_.push_back(id);
  ended_tasks_ += TasksOf(job);
  PruneEndedJobs();
}

void State::RemoveJob(JobId id) {
  const Job& job = JobOf(id);
  digest_ -= Hash(job);
  for (uint32_t s = 0; s < job.stages.size(); ++s) {
    digest_ -= Hash({id, s}, job.stages[s]);
    for (uint32_t t = 0; t < job.stages[s].tasks.size(); ++t) {
      const Task& task = job.stages[s].tasks[t];
      constexpr size_t kAhead = 8;
      if (t + kAhead < job.stages[s].tasks.size()) {
        const auto& ahead = job.stages[s].tasks[t + kAhead].attempts;
        AskMemory(ahead.data(), ahead.size() * sizeof(Attempt));
      }
      digest_ -= Hash({id, s, t}, task);
      for (const Attempt& a : task.attempts) digest_ -= Hash({id, s, t}, a);
    }
  }
  LeaveList(job);
  lately_[id.seq % kLately] = nullptr;
  jobs_.erase(id);
}

// The oldest go first, but for those that still hold slots: a job that ends costs no walk over those that are kept.
void State::PruneEndedJobs() {
  size_t tasks = ended_tasks_, jobs = ended_.size();  // of this one and of all that ended later
  std::vector<JobId> kept;
  auto it = ended_.begin();
  for (; jobs > 1 && (jobs > kEndedJobsKept || tasks > kEndedTasksKept); ++it, --jobs) {
    const Job& job = JobOf(*it);
    const size_t of_job = TasksOf(job);
    tasks -= of_job;
    if (job.holding > 0) {
      kept.push_back(*it);
    } else {
      ended_tasks_ -= of_job;
      RemoveJob(*it);
    }
  }
  ended_.erase(std::copy(kept.begin(), kept.end(), ended_.begin()), it);
}

}  // namespace mr::sched
