#include "master/history/history.h"

#include "master/sched/state/state.h"

namespace mr::history {

const Attempt* Task::Winner() const {
  for (const Attempt& a : attempts) {
    if (a.number == winner && winner != 0) return &a;
  }
  return nullptr;
}

uint32_t Job::tasks() const {
  size_t n = 0;
  for (const Stage& s : stages) n += s.tasks.size();
  return static_cast<uint32_t>(n);
}

Task TaskOf(const sched::Task& t) {
  Task task{t.plan.input_bytes, t.manifest.bytes, t.winner, t.plan.preferred, t.plan.slices, {}};
  for (const sched::Attempt& a : t.attempts) {
    Attempt attempt{a.number, a.cause, a.state, a.worker, a.launched_at, a.started_at, a.inputs_done_at, a.ended_at,
                    {},       0,       0,       0};
    if (!a.samples.empty()) {
      attempt.reported = a.samples.back().at;
      attempt.taken = a.samples.back().taken_bytes;
      attempt.total = a.samples.back().total_bytes;
      attempt.phase = a.samples.back().phase;
    }
    task.attempts.push_back(attempt);
  }
  return task;
}

Job JobWithoutStages(const sched::Job& from) {
  return {from.id,       from.name,         from.queue,    from.priority, from.state,
          from.policies, from.submitted_at, from.ended_at, from.deadline, {}};
}

Job JobOf(const sched::Job& from) {
  Job job = JobWithoutStages(from);
  for (size_t s = 0; s < from.stages.size(); ++s) {
    Stage stage{from.graph.stages[s], {}};
    for (const sched::Task& t : from.stages[s].tasks) stage.tasks.push_back(TaskOf(t));
    job.stages.push_back(std::move(stage));
  }
  return job;
}

Worker WorkerOf(const sched::Worker& worker) { return {worker.id, worker.rack, worker.slots, {}, {}}; }

Document FrameOf(const sched::State& state) {
  Document document;
  document.policies = state.config().policies;
  document.lists = state.config().lists;
  document.seed = state.config().seed;
  for (const auto& [name, q] : state.queues()) document.queues.push_back({name, q.weight, q.min_share, q.max_share});
  for (const auto& [id, worker] : state.workers()) {
    if (worker.alive) document.workers.push_back(WorkerOf(worker));
  }
  return document;
}

}  // namespace mr::history
