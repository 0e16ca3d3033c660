#include "master/sched/fold/unended.h"

#include <algorithm>

namespace mr::sched {

void UnendedAttempts::Add(const AttemptId& id, WorkerId worker, Incarnation incarnation, Instant until) {
  const Job* job = state_.FindJob(id.task.job);
  const Task* task = state_.FindTask(id.task);
  if (job == nullptr || task == nullptr || !job->running() || !job->graph.stages[id.task.stage].side_effects) return;
  if (task->state == TaskState::kCommitted) return;
  std::vector<Unended> all = task->unended;
  std::erase_if(all, [&](const Unended& u) {
    return u.number == id.number && u.worker == worker && u.incarnation == incarnation;
  });
  all.push_back({id.number, worker, incarnation, until});
  state_.SetUnended(id.task, std::move(all));
  if (until.ns != 0) wake_(until);
}

void UnendedAttempts::Remove(const AttemptId& id, WorkerId worker, Incarnation incarnation) {
  const Task* task = state_.FindTask(id.task);
  if (task == nullptr || task->unended.empty()) return;
  std::vector<Unended> left = task->unended;
  std::erase_if(left, [&](const Unended& u) {
    return u.number == id.number && u.worker == worker && u.incarnation == incarnation;
  });
  if (left != task->unended) state_.SetUnended(id.task, std::move(left));
}

void UnendedAttempts::LeasesRunOut(WorkerId worker, Incarnation incarnation, Instant until) {
  const std::set<TaskId> tasks = state_.unended();
  for (const TaskId& id : tasks) {
    const std::vector<Unended> all = state_.FindTask(id)->unended;
    for (const Unended& u : all) {
      if (u.worker != worker || u.incarnation != incarnation || u.until.ns != 0) continue;
      Add({id, u.number}, worker, incarnation, until);
    }
  }
}

void UnendedAttempts::Prolong(Instant until) {
  const std::set<TaskId> tasks = state_.unended();
  for (const TaskId& id : tasks) {
    const std::vector<Unended> all = state_.FindTask(id)->unended;
    for (const Unended& u : all) {
      if (u.until.ns != 0 && u.until < until) Add({id, u.number}, u.worker, u.incarnation, until);
    }
  }
}

void UnendedAttempts::Settle(const WorkerRegistered& e) {
  const std::set<AttemptId> running(e.running.begin(), e.running.end());
  const std::set<TaskId> tasks = state_.unended();
  for (const TaskId& id : tasks) {
    const std::vector<Unended> all = state_.FindTask(id)->unended;
    for (const Unended& u : all) {
      // Another incarnation of the worker shows nothing about this one.
      if (u.worker != e.worker || u.incarnation != e.incarnation) continue;
      const AttemptId attempt{id, u.number};
      // The registration renews its lease, so only its report shows its end.
      if (running.count(attempt) != 0)
        Add(attempt, u.worker, u.incarnation, {});
      else
        Remove(attempt, u.worker, u.incarnation);
    }
  }
}

void UnendedAttempts::Release(Instant now) {
  const std::set<TaskId> tasks = state_.unended();
  Instant next{INT64_MAX};
  for (const TaskId& id : tasks) {
    std::vector<Unended> left = state_.FindTask(id)->unended;
    std::erase_if(left, [&](const Unended& u) { return u.until.ns != 0 && u.until <= now; });
    for (const Unended& u : left) {
      if (u.until.ns != 0) next = std::min(next, u.until);
    }
    if (left != state_.FindTask(id)->unended) state_.SetUnended(id, std::move(left));
  }
  if (next.ns != INT64_MAX) wake_(next);
}

void UnendedAttempts::Forget(JobId id) {
  const std::set<TaskId> tasks = state_.unended();
  for (const TaskId& task : tasks) {
    if (task.job == id) state_.SetUnended(task, {});
  }
}

}  // namespace mr::sched
