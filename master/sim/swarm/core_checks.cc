#include "master/sim/swarm/core_checks.h"

#include <set>

#include "master/sched/state/state.h"

namespace mr::sim {

namespace {

using master::AttemptView;
using master::JobView;
using master::TaskView;

std::string CheckTask(const sched::State& state, const JobView& job, const TaskId& id, const TaskView& view) {
  const sched::Task& task = *state.FindTask(id);
  const std::string name = Name(id, job.letter(id.stage));
  std::set<std::pair<uint32_t, uint32_t>> known, shown;  // worker, attempt
  for (const sched::ReplicaPlace& replica : task.replicas) known.emplace(replica.worker.value, replica.attempt);
  for (const master::ReplicaView& replica : view.replicas) {
    shown.emplace(replica.replica.worker.value, replica.replica.attempt);
  }
  if (known != shown) return name + ": the scheduler and the job table know other replicas of its output";
  if (view.committed && view.generation > task.generation) return name + ": a generation that is not there yet";
  return "";
}

std::string CheckJob(const sched::State& state, const JobView& job, const sched::Job& known) {
  std::set<AttemptId> live, shown;
  for (uint32_t s = 0; s < known.stages.size(); ++s) {
    const sched::Stage& stage = known.stages[s];
    for (const auto& [task, number] : stage.active) live.insert({{job.id, s, task}, number});
    if (!stage.planned()) continue;
    if (job.stages[s].tasks.size() != stage.tasks.size()) return Name(job.id) + ": a stage has other tasks";
    for (uint32_t t = 0; t < stage.tasks.size(); ++t) {
      if (std::string wrong = CheckTask(state, job, {job.id, s, t}, job.stages[s].tasks[t]); !wrong.empty()) {
        return wrong;
      }
    }
  }
  for (const auto& [id, attempt] : job.attempts) {
    if (Live(attempt.state)) shown.insert(id);
  }
  if (live != shown) {
    return Name(job.id) + ": the scheduler runs " + std::to_string(live.size()) + " attempts, and people see " +
           std::to_string(shown.size());
  }
  if (job.live_attempts != shown.size()) return Name(job.id) + ": its live attempts are miscounted";
  return "";
}

}  // namespace

std::string CheckCore(const master::MasterCore& core) {
  const sched::State& state = core.scheduler().state();
  if (std::string wrong = CheckState(state); !wrong.empty()) return wrong;
  for (const auto& [id, known] : state.jobs()) {
    const auto it = core.jobs().jobs().find(id);
    if (it == core.jobs().jobs().end()) {
      if (known.running()) return Name(id) + " runs, and people cannot see it";
      continue;
    }
    const JobView& job = it->second;
    if (known.running() == Ended(job.state) && job.state != JobState::kCommitting) {
      return Name(id) + " is " + Word(job.state) + ", and the scheduler says otherwise";
    }
    if (!known.running() || job.brief) continue;
    if (std::string wrong = CheckJob(state, job, known); !wrong.empty()) return wrong;
  }
  return "";
}

}  // namespace mr::sim
