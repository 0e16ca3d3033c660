#include "master/sched/plan.h"

#include <algorithm>

#include "master/sched/fold/core.h"

namespace mr::sched {

namespace {

// Returns the number of attempts of this task that the draft launches.
uint32_t Drafted(const std::vector<Edit>& edits, const TaskId& task) {
  uint32_t n = 0;
  for (const Edit& e : edits) {
    const auto* launch = std::get_if<sched::Launch>(&e);
    if (launch != nullptr && launch->attempt.task == task) ++n;
  }
  return n;
}

// Returns whether some live attempt of the task has not reported since a restart a moment ago.
bool UnheardSinceRestart(const State& state, const Task& task) {
  const Instant* quiet = state.FindTimer(kCoreTimer, kRestartTimer);
  if (quiet == nullptr) return false;
  const Instant restart{quiet->ns - kRestartQuiet.ns};
  return std::any_of(task.attempts.begin(), task.attempts.end(), [restart](const Attempt& a) {
    const Instant heard = a.samples.empty() ? std::max(a.launched_at, a.started_at) : a.samples.back().at;
    return a.live() && heard < restart;
  });
}

bool RunsFor(const Task& task, Cause cause) {
  return task.live > 1 && std::any_of(task.attempts.begin(), task.attempts.end(),
                                      [&](const Attempt& a) { return a.live() && a.cause == cause; });
}

}  // namespace

Plan::Plan(const View& view) : view_(view) {}
Plan::~Plan() = default;

Reason Plan::Signed(Reason reason) const {
  if (signs_) reason.policy = policy_;
  return reason;
}

bool Plan::Serves(JobId id) const {
  if (list_ == nullptr) return true;
  const Job* job = view_.state().FindJob(id);
  return job != nullptr && job->list == list_;
}

std::string Plan::Owner() const { return list_ == nullptr ? policy_ : policy_ + list_->suffix; }

bool Plan::Launches() const {
  const auto launches = [](const Edit& e) { return std::holds_alternative<sched::Launch>(e); };
  return std::any_of(edits_.begin(), edits_.end(), launches);
}

bool Plan::Launch(const TaskId& id, WorkerId worker, Cause cause, Reason reason) {
  const State& state = view_.state();
  const Job* job = state.FindJob(id.job);
  const Task* task = state.FindTask(id);
  const Worker* w = state.FindWorker(worker);
  if (job == nullptr || !job->running() || task == nullptr || w == nullptr) return false;
  if (!Serves(id.job)) return false;
  if (task->state == TaskState::kCommitted || task->held_until.ns != 0) return false;
  if (!task->unended.empty()) return false;
  const StageSpec& spec = job->graph.stages[id.stage];
  const uint32_t drafted = Drafted(edits_, id);
  if (spec.side_effects && task->holding + drafted > 0) return false;
  const bool judges = cause == Cause::kSpeculative || cause == Cause::kRestart;
  if (judges && UnheardSinceRestart(state, *task)) return false;
  uint32_t most = task->wanted;
  if (cause == Cause::kClone || cause == Cause::kRestart) ++most;
  if (cause == Cause::kSpeculative) most = std::max(most + 1, kMostRunning);
  if (cause == Cause::kOpportunistic) most = std::max(most, kMostRunning);
  if (cause == Cause::kOpportunistic && (task->live == 0 || State::LiveOn(*task, worker))) return false;
  if (cause == Cause::kOpportunistic && TimesFailed(*task) >= kFailuresOfCloned) return false;
  if (cause == Cause::kOpportunistic && RunsFor(*task, Cause::kSpeculative)) return false;
  if ((cause == Cause::kOpportunistic ? task->live : OwnLive(*task)) + drafted >= most) return false;
  if (state.BelongsElsewhere(spec, *task, *w) || !HasRoom(*w, spec)) return false;
  edits_.push_back(sched::Launch{{id, 0}, worker, w->incarnation, cause, task->generation, Signed(std::move(reason))});
  return true;
}

bool Plan::HasRoom(const Worker& w, const StageSpec& spec) const {
  const State& state = view_.state();
  SlotUse use = w.used;
  for (const Edit& e : edits_) {
    const auto* launch = std::get_if<sched::Launch>(&e);
    if (launch == nullptr || launch->worker != w.id) continue;
    const StageSpec& other = state.Spec(launch->attempt.task.stage_id());
    ++use.slots[KindIndex(other.slot_kind)];
    use.memory += other.memory_bytes;
  }
  return w.is_free[KindIndex(spec.slot_kind)] && state.Room(w, use, spec.slot_kind, spec.memory_bytes);
}

bool Plan::Remake(const TaskId& id, WorkerId worker, Reason reason) {
  const State& state = view_.state();
  const Job* job = state.FindJob(id.job);
  const Task* task = state.FindTask(id);
  const Worker* w = state.FindWorker(worker);
  if (job == nullptr || !job->running() || task == nullptr || w == nullptr) return false;
  if (!Serves(id.job)) return false;
  if (task->state != TaskState::kCommitted || task->live + Drafted(edits_, id) > 0) return false;
  const StageSpec& spec = job->graph.stages[id.stage];
  if (spec.is_final || spec.side_effects || !state.InputsComplete(*job, id.stage, *task)) return false;
  for (const Slice& slice : task->plan.slices) {
    const std::set<uint32_t>& bare = job->stages[spec.inputs[slice.input].upstream].bare;
    const auto it = bare.lower_bound(slice.task_begin);
    if (it != bare.end() && *it < slice.task_end) return false;
  }
  if (state.TimesFailedOn(*task, *w) > 0 || !HasRoom(*w, spec)) return false;
  edits_.push_back(
      sched::Launch{{id, 0}, worker, w->incarnation, Cause::kRetry, task->generation, Signed(std::move(reason))});
  return true;
}

bool Plan::Withdraw(const TaskId& task) {
  if (!Serves(task.job)) return false;
  const auto it = std::find_if(edits_.begin(), edits_.end(), [&](const Edit& e) {
    const auto* launch = std::get_if<sched::Launch>(&e);
    return launch != nullptr && launch->attempt.task == task;
  });
  if (it == edits_.end()) return false;
  edits_.erase(it);
  return true;
}

bool Plan::Replace(const TaskId& drafted, const TaskId& task, WorkerId worker, Cause cause, Reason reason) {
  const std::vector<Edit> before = edits_;
  if (!Withdraw(drafted)) return false;
  if (Launch(task, worker, cause, std::move(reason))) return true;
  edits_ = before;
  return false;
}

bool Plan::Spare(const AttemptId& id, Reason reason) {
  const Attempt* a = view_.state().FindAttempt(id);
  if (a == nullptr || !a->live() || a->spared) return false;
  const auto same = [&](const Edit& e) {
    const auto* spare = std::get_if<sched::Spare>(&e);
    return spare != nullptr && spare->attempt == id;
  };
  if (std::any_of(edits_.begin(), edits_.end(), same)) return false;
  edits_.push_back(sched::Spare{id, a->worker, Signed(std::move(reason))});
  return true;
}

bool Plan::PassOver(JobId job) {
  if (!Serves(job)) return false;
  const auto ours = [&](const Edit& e) {
    const auto* launch = std::get_if<sched::Launch>(&e);
    return launch != nullptr && launch->attempt.task.job == job;
  };
  if (std::erase_if(edits_, ours) == 0) return false;
  passed_.insert(job);
  return true;
}

bool Plan::Kill(const AttemptId& id, Reason reason) {
  const Attempt* a = view_.state().FindAttempt(id);
  if (a == nullptr || !a->live() || !Serves(id.task.job) || ends_.count(id) != 0) return false;
  ends_.insert(id);
  edits_.push_back(sched::Kill{id, a->worker, a->incarnation, Signed(std::move(reason))});
  return true;
}

bool Plan::TakeBack(const AttemptId& id, Reason reason) {
  const Attempt* a = view_.state().FindAttempt(id);
  if (a == nullptr || !view_.state().Waiting(id) || !Serves(id.task.job) || ends_.count(id) != 0) return false;
  ends_.insert(id);
  edits_.push_back(sched::TakeBack{id, a->worker, a->incarnation, Signed(std::move(reason))});
  return true;
}

bool Plan::HasReplica(const Replica& replica) const {
  const Task* task = view_.state().FindTask(replica.output.task);
  if (task == nullptr) return false;
  const ReplicaPlace place{replica.output.generation, replica.attempt, replica.worker, replica.incarnation};
  return std::find(task->replicas.begin(), task->replicas.end(), place) != task->replicas.end();
}

bool Plan::Bind(const AttemptId& reader, const Replica& replica, Reason reason, bool exclusive) {
  const Attempt* a = view_.state().FindAttempt(reader);
  if (a == nullptr || !a->live() || !Serves(reader.task.job) || !HasReplica(replica)) return false;
  edits_.push_back(sched::Bind{reader, replica, Signed(std::move(reason)), exclusive});
  return true;
}

bool Plan::ReadByBind(const TaskId& task) {
  if (!Serves(task.job) || view_.state().FindTask(task)->plan.slices.empty()) return false;
  for (Edit& e : edits_) {
    auto* launch = std::get_if<sched::Launch>(&e);
    if (launch == nullptr || !(launch->attempt.task == task)) continue;
    launch->by_bind = true;
    return true;
  }
  return false;
}

bool Plan::Replicate(const Replica& from, WorkerId to, Reason reason) {
  const Worker* w = view_.state().FindWorker(to);
  if (w == nullptr || !w->alive || w->draining || !Serves(from.output.task.job) || !HasReplica(from)) return false;
  for (const ReplicaPlace& c : view_.state().FindTask(from.output.task)->replicas) {
    if (c.worker == to) return false;
  }
  edits_.push_back(ReplicateOutput{from, to, Signed(std::move(reason))});
  return true;
}

bool Plan::SetShare(JobId id, uint32_t slots, Reason reason) {
  const Job* job = view_.state().FindJob(id);
  if (job == nullptr || !job->running() || !Serves(id)) return false;
  edits_.push_back(sched::SetShare{id, slots, Signed(std::move(reason))});
  return true;
}

bool Plan::WantAttempts(const TaskId& id, uint32_t attempts) {
  const Task* task = view_.state().FindTask(id);
  if (task == nullptr || task->state == TaskState::kCommitted || attempts == 0 || !Serves(id.job)) return false;
  if (attempts > 1 && view_.state().Spec(id.stage_id()).side_effects) return false;
  edits_.push_back(Want{id, attempts, 0});
  return true;
}

bool Plan::WantReplicas(const TaskId& id, uint32_t replicas) {
  const Task* task = view_.state().FindTask(id);
  if (task == nullptr || replicas == 0 || !Serves(id.job)) return false;
  if (task->state == TaskState::kCommitted && replicas > 1) return false;
  if (view_.state().Spec(id.stage_id()).is_final) return false;
  edits_.push_back(Want{id, 0, replicas});
  return true;
}

void Plan::Remember(const std::string& scope, uint64_t id, const std::string& name, FactValue value) {
  edits_.push_back(sched::Remember{Owner(), scope, id, name, value, false});
}

void Plan::Forget(const std::string& scope, uint64_t id, const std::string& name) {
  edits_.push_back(sched::Remember{Owner(), scope, id, name, int64_t{0}, true});
}

void Plan::ForgetAll(const std::string& scope, uint64_t id) {
  const std::string owner = Owner();
  const auto& facts = view_.state().facts();
  for (auto it = facts.lower_bound({owner, scope, id, ""}); it != facts.end(); ++it) {
    const FactKey& key = it->first;
    if (key.policy != owner || key.scope != scope || key.id != id) return;
    Forget(scope, id, key.name);
  }
}

void Plan::WakeAt(uint64_t id, Instant at) { edits_.push_back(sched::WakeAt{Owner(), id, at}); }

}  // namespace mr::sched
