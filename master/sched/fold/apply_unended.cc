// Attempts with side effects whose end is not known: those of a lost worker, which may run on behind a cut network,
// and those of an earlier release of the master. No other attempt of their task is launched before each has ended.
// Its worker's report shows that, or its worker's next registration, or its lease, which the worker's helper enforces
// (worker/adr/0003).
#include <algorithm>

#include "master/sched/fold/core.h"

namespace mr::sched {

void Core::On(const LeaseSet& e) {
  if (e.wait.ns > 0) state_.SetLease(e.wait);
}

void Core::MayStillRun(const AttemptId& id, WorkerId worker, Incarnation incarnation, Instant until) {
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
  if (until.ns != 0) WakeCoreAt(until);
}

void Core::HasEnded(const AttemptId& id, WorkerId worker, Incarnation incarnation) {
  const Task* task = state_.FindTask(id.task);
  if (task == nullptr || task->unended.empty()) return;
  std::vector<Unended> left = task->unended;
  std::erase_if(left, [&](const Unended& u) {
    return u.number == id.number && u.worker == worker && u.incarnation == incarnation;
  });
  if (left != task->unended) state_.SetUnended(id.task, std::move(left));
}

void Core::LeasesRunOut(WorkerId worker, Incarnation incarnation) {
  const std::set<TaskId> tasks = state_.unended();
  for (const TaskId& id : tasks) {
    const std::vector<Unended> all = state_.FindTask(id)->unended;
    for (const Unended& u : all) {
      if (u.worker != worker || u.incarnation != incarnation || u.until.ns != 0) continue;
      MayStillRun({id, u.number}, worker, incarnation, now_ + state_.config().lost_wait);
    }
  }
}

void Core::SettleUnended(const WorkerRegistered& e) {
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
        MayStillRun(attempt, u.worker, u.incarnation, {});
      else
        HasEnded(attempt, u.worker, u.incarnation);
    }
  }
}

void Core::ReleaseUnended() {
  const std::set<TaskId> tasks = state_.unended();
  Instant next{INT64_MAX};
  for (const TaskId& id : tasks) {
    std::vector<Unended> left = state_.FindTask(id)->unended;
    std::erase_if(left, [&](const Unended& u) { return u.until.ns != 0 && u.until <= now_; });
    for (const Unended& u : left) {
      if (u.until.ns != 0) next = std::min(next, u.until);
    }
    if (left != state_.FindTask(id)->unended) state_.SetUnended(id, std::move(left));
  }
  if (next.ns != INT64_MAX) WakeCoreAt(next);
}

void Core::ForgetUnended(JobId id) {
  const std::set<TaskId> tasks = state_.unended();
  for (const TaskId& task : tasks) {
    if (task.job == id) state_.SetUnended(task, {});
  }
}

}  // namespace mr::sched
