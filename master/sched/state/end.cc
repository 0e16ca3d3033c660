// Ends jobs and removes ended ones: the only two walks over all tasks of a job.
#include <algorithm>

#include "common/base/check.h"
#include "common/base/prefetch.h"
#include "master/sched/state/state.h"

namespace mr::sched {

namespace {

// Ended jobs stay readable for status pages while both limits hold. Guesses: a screen of jobs, and the memory of one
// large job.
constexpr size_t kEndedJobsKept = 1000;
constexpr size_t kEndedTasksKept = 100'000;

size_t TasksOf(const Job& job) {
  size_t tasks = 0;
  for (const Stage& s : job.stages) tasks += s.tasks.size();
  return tasks;
}

}  // namespace

// Prefetches for a walk over tasks: their lists of replicas, then the workers, then the ends of these workers' lists,
// and their attempts. They lie all over the memory, and waiting for one after the other is most of the walk's cost.
void State::FetchAhead(const std::vector<Task>& tasks, uint32_t t) const {
  constexpr size_t kAhead = 6;  // a guess: so many tasks take longer than one access to memory
  const auto at = [&](size_t n) { return t + n * kAhead < tasks.size() ? &tasks[t + n * kAhead] : nullptr; };
  if (const Task* task = at(3)) __builtin_prefetch(task->replicas.data());
  if (const Task* task = at(2)) {
    AskMemory(task->attempts.data(), task->attempts.size() * sizeof(Attempt));
    for (const ReplicaPlace& place : task->replicas) __builtin_prefetch(&FindWorker(place.worker)->replicas);
  }
  if (const Task* task = at(1)) {
    for (const ReplicaPlace& place : task->replicas) FindWorker(place.worker)->replicas.Fetch();
  }
}

void State::EndJob(JobId id, JobState state, const std::string& message, Instant now) {
  Job& job = JobOf(id);
  for (uint32_t s = 0; s < job.stages.size(); ++s) {
    for (uint32_t t = 0; t < job.stages[s].tasks.size(); ++t) {
      const TaskId task{id, s, t};
      FetchAhead(job.stages[s].tasks, t);
      ReleaseTask(task);
      while (!TaskOf(task).replicas.empty()) RemoveReplica(task, TaskOf(task).replicas.back());
      Index({job, task, TaskOf(task), false});
    }
  }
  for (const AskedReplica& replica : job.asked) digest_ -= Hash(id, replica);
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
      Index({job, {id, s, t}, job.stages[s].tasks[t], true});
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
  recent_jobs_[id.seq % kRecentJobs] = nullptr;
  jobs_.erase(id);
}

// Removes the oldest first, except those that still hold slots. A job that ends costs no walk over the kept ones.
void State::PruneEndedJobs() {
  size_t tasks = ended_tasks_, jobs = ended_.size();  // of this job and of all that ended later
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
