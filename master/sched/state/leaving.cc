#include "master/sched/state/leaving.h"

#include <algorithm>

namespace mr::sched {

namespace {

constexpr char kOfWorker[] = "worker", kLeaves[] = "leaves";

}  // namespace

void SetLeaving(State* state, WorkerId worker, bool on) {
  const FactKey key{kMovesOwner, kOfWorker, worker.value, kLeaves};
  if (on)
    state->SetFact(key, int64_t{1});
  else
    state->EraseFact(key);
}

bool Leaves(const State& state, WorkerId id) {
  const Worker* worker = state.FindWorker(id);
  if (worker == nullptr || !worker->draining) return false;  // most of them: a fact costs a hash of its texts
  return state.FindFact({kMovesOwner, kOfWorker, id.value, kLeaves}) != nullptr;
}

std::vector<const Worker*> LeavingWorkers(const State& state) {
  std::vector<const Worker*> workers;
  for (auto it = state.facts().lower_bound(FactName(kMovesOwner, kOfWorker, 0, "")); it != state.facts().end(); ++it) {
    const FactKey& key = it->first;
    if (key.policy != kMovesOwner || key.scope != kOfWorker) break;
    const Worker* worker = state.FindWorker({static_cast<uint32_t>(key.id)});
    if (worker != nullptr && worker->alive && worker->draining) workers.push_back(worker);
  }
  return workers;
}

bool StaysElsewhere(const State& state, const Task& task, WorkerId but) {
  return std::any_of(task.replicas.begin(), task.replicas.end(), [&](const ReplicaPlace& replica) {
    return replica.worker != but && replica.generation == task.generation && Stays(state.FindWorker(replica.worker));
  });
}

bool IsBeingMoved(const State& state, const TaskId& id) {
  const Job* job = state.FindJob(id.job);
  const Task* task = state.FindTask(id);
  if (job == nullptr || task == nullptr) return false;
  const AskedReplica first{id.stage, id.task, task->generation, 0, {}};
  for (auto it = job->asked.lower_bound(first); it != job->asked.end(); ++it) {
    if (it->stage != id.stage || it->task != id.task || it->generation != task->generation) return false;
    if (Stays(state.FindWorker(it->to))) return true;
  }
  return false;
}

}  // namespace mr::sched
