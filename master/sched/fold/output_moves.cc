#include "master/sched/fold/output_moves.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>

namespace mr::sched {

namespace {

constexpr char kTried[] = "tried";  // scope of failed tries: of a job, "stage/task/generation/worker" -> when
// Workers that stay and are examined as targets of one output: a place is not worth a walk over a large cluster. A
// guess.
constexpr size_t kTargetsSeen = 256;

std::string TriedPrefix(const TaskId& id, uint32_t generation) {
  return std::to_string(id.stage) + "/" + std::to_string(id.task) + "/" + std::to_string(generation) + "/";
}

// Calls visit(name, when) for each failed try of the output.
template <class Visit>
void EachTry(const State& state, const TaskId& id, uint32_t generation, Visit&& visit) {
  const std::string prefix = TriedPrefix(id, generation);
  const uint64_t job = FactId(id.job);
  auto it = state.facts().lower_bound(FactName(kMovesOwner, kTried, job, prefix));
  for (; it != state.facts().end(); ++it) {
    const FactKey& key = it->first;
    if (key.policy != kMovesOwner || key.scope != kTried || key.id != job || !key.name.starts_with(prefix)) return;
    visit(key.name, Instant{std::get<int64_t>(it->second)});
  }
}

class OutputMover {
 public:
  OutputMover(const View& view, std::vector<const Worker*> leaving, Plan* plan)
      : view_(view), state_(view.state()), leaving_(std::move(leaving)), plan_(*plan) {
    for (const auto& [id, worker] : state_.workers()) {
      if (Stays(&worker)) staying_.push_back(&worker);
    }
    for (const auto& [id, job] : state_.jobs()) {
      for (const AskedReplica& asked : job.asked) {
        ++asked_of_[asked.to];
        const TaskId task{id, asked.stage, asked.task};
        for (const Worker* worker : leaving_) {
          if (PlaceOn(*state_.FindTask(task), worker->id) != nullptr) ++asked_from_[worker->id];
        }
      }
    }
  }

  void NoteFailed(const ReplicaNotMade& failed) {
    const TaskId& id = failed.from.output.task;
    if (state_.FindTask(id) == nullptr || !IsOnLeaving(id)) return;
    plan_.Remember(kTried, FactId(id.job),
                   TriedPrefix(id, failed.from.output.generation) + std::to_string(failed.worker.value),
                   view_.now().ns);
    failed_.insert({id, failed.worker});
  }

  // Forgets the failed tries of an output that has a replica on a worker that stays.
  void ForgetTries(const TaskId& id) {
    const Task* task = state_.FindTask(id);
    if (task == nullptr || !StaysElsewhere(state_, *task, {})) return;
    EachTry(state_, id, task->generation,
            [&](const std::string& name, Instant) { plan_.Forget(kTried, FactId(id.job), name); });
  }

  // Examines this output and those behind it, on the leaving workers that have it.
  void From(const TaskId& id) {
    const Task* task = state_.FindTask(id);
    if (task == nullptr) return;
    for (const Worker* worker : leaving_) {
      if (PlaceOn(*task, worker->id) != nullptr) Walk(*worker, {id, 0});
    }
  }

  void All() {
    for (const Worker* worker : leaving_) Walk(*worker, {});
  }

  // Some worker stays.
  bool HasTargets() const { return !staying_.empty(); }
  // Some output found no target, or was left out by a limit.
  bool waits() const { return waits_; }

 private:
  static const ReplicaPlace* PlaceOn(const Task& task, WorkerId worker) {
    for (const ReplicaPlace& place : task.replicas) {
      if (place.worker == worker && place.generation == task.generation) return &place;
    }
    return nullptr;
  }

  bool IsOnLeaving(const TaskId& id) const {
    const Task& task = *state_.FindTask(id);
    return std::any_of(leaving_.begin(), leaving_.end(),
                       [&](const Worker* worker) { return PlaceOn(task, worker->id) != nullptr; });
  }

  // By task, so that outputs of one job's stage go one after the other.
  void Walk(const Worker& source, const ReplicaKey& begin) {
    const std::vector<ReplicaKey>& all = source.replicas.All();
    for (auto it = std::lower_bound(all.begin(), all.end(), begin); it != all.end(); ++it) {
      if (!Judge(it->task)) return;
    }
  }

  // Asks for a replica of the output if it must be moved. Returns false if no further one can be asked for now.
  bool Judge(const TaskId& id) {
    const Job* job = state_.FindJob(id.job);
    const Task& task = *state_.FindTask(id);
    if (job == nullptr || !job->running() || task.state != TaskState::kCommitted || drafted_.contains(id)) return true;
    if (StaysElsewhere(state_, task, {}) || IsBeingMoved(state_, id) || !IsOnLeaving(id)) return true;
    if (!State::Needed(*job, id)) return true;
    const Worker* source = nullptr;
    for (const Worker* worker : leaving_) {
      if (PlaceOn(task, worker->id) != nullptr && asked_from_[worker->id] < kMovesPerSource) source = worker;
    }
    bool busy = source == nullptr;
    const Worker* target = busy ? nullptr : TargetFor(id, task, *source, &busy);
    waits_ = waits_ || target == nullptr;
    if (target == nullptr) return !busy;
    const Replica from = State::MakeReplica(id, *PlaceOn(task, source->id));
    if (!plan_.Replicate(from, target->id, {ReasonCode::kOutputLeaves, "", {static_cast<double>(source->id.value)}})) {
      return true;
    }
    drafted_.insert(id);
    ++asked_of_[target->id];
    ++asked_from_[source->id];
    return true;
  }

  // Returns the worker with the fewest requests, then in the source's rack, then with the fewest outputs; null if
  // there is none. busy: all that could take it have as many requests as they may.
  const Worker* TargetFor(const TaskId& id, const Task& task, const Worker& source, bool* busy) {
    std::set<WorkerId> tried;
    EachTry(state_, id, task.generation, [&](const std::string& name, Instant when) {
      if (when + kMoveRetry <= view_.now()) return;
      tried.insert({static_cast<uint32_t>(std::stoul(name.substr(name.rfind('/') + 1)))});
    });
    auto failed = failed_.lower_bound({id, {}});
    for (; failed != failed_.end() && failed->first == id; ++failed) tried.insert(failed->second);
    if (tried.size() >= kMoveTries) return nullptr;
    const Worker* best = nullptr;
    std::tuple<uint32_t, bool, size_t> least;
    auto it = std::upper_bound(staying_.begin(), staying_.end(), source.id,
                               [](WorkerId a, const Worker* b) { return a < b->id; });
    for (size_t seen = 0; seen < std::min(staying_.size(), kTargetsSeen); ++seen, ++it) {
      if (it == staying_.end()) it = staying_.begin();
      const Worker& w = **it;
      const bool holds = std::any_of(task.replicas.begin(), task.replicas.end(),
                                     [&](const ReplicaPlace& place) { return place.worker == w.id; });
      if (holds || tried.contains(w.id)) continue;
      const auto asked = asked_of_.find(w.id);
      const uint32_t requests = asked == asked_of_.end() ? 0 : asked->second;
      if (requests >= kMovesPerTarget) {
        *busy = true;
        continue;
      }
      const std::tuple<uint32_t, bool, size_t> rank{requests, w.rack != source.rack, w.replicas.size()};
      if (best == nullptr || rank < least) {
        best = &w;
        least = rank;
      }
    }
    return best;
  }

  const View& view_;
  const State& state_;
  const std::vector<const Worker*> leaving_;
  std::vector<const Worker*> staying_;  // by id
  Plan& plan_;
  std::map<WorkerId, uint32_t> asked_of_, asked_from_;  // unanswered requests by target and by source
  std::set<TaskId> drafted_;
  std::set<std::pair<TaskId, WorkerId>> failed_;  // tries that failed in this step
  bool waits_ = false;
};

// Forgets all failed tries: nothing is moved any more.
void ForgetAllTries(const State& state, Plan* plan) {
  for (auto it = state.facts().lower_bound(FactName(kMovesOwner, kTried, 0, "")); it != state.facts().end(); ++it) {
    const FactKey& key = it->first;
    if (key.policy != kMovesOwner || key.scope != kTried) return;
    plan->Forget(kTried, key.id, key.name);
  }
}

}  // namespace

void MoveOutputs(const View& view, const MovesDue& due, const std::vector<ReplicaNotMade>& not_made,
                 const std::vector<JobId>& ended, Plan* plan) {
  const State& state = view.state();
  plan->EnterDropped(kMovesOwner, nullptr);  // the reasons are the core's
  std::vector<const Worker*> leaving = LeavingWorkers(state);
  if (leaving.empty()) return ForgetAllTries(state, plan);
  for (const JobId job : ended) plan->ForgetAll(kTried, FactId(job));
  if (!due.any() && not_made.empty()) return;
  OutputMover mover(view, std::move(leaving), plan);
  if (!mover.HasTargets()) return;  // the first worker that comes leads to another look
  for (const ReplicaNotMade& failed : not_made) mover.NoteFailed(failed);
  for (const TaskId& id : due.outputs) mover.ForgetTries(id);
  if (due.look) {
    mover.All();
  } else {
    for (const ReplicaNotMade& failed : not_made) mover.From(failed.from.output.task);
    for (const TaskId& id : due.outputs) mover.From(id);
  }
  if (!mover.waits()) return;
  const Instant at = view.now() + kMovesLook;
  const Instant* timer = state.FindTimer(kMovesOwner, 0);
  if (timer == nullptr || *timer > at) plan->WakeAt(0, at);
}

bool MoveHasFailed(const State& state, const TaskId& id) {
  const Task* task = state.FindTask(id);
  bool failed = false;
  if (task != nullptr) EachTry(state, id, task->generation, [&](const std::string&, Instant) { failed = true; });
  return failed;
}

}  // namespace mr::sched
