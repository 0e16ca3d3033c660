#include "master/sched/policies/dolly/replica_assigner.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "master/sched/policies/common/lent_slots.h"
#include "master/sched/policies/dolly/reads_clones.h"
#include "master/sched/policies/dolly/reasons.h"
#include "master/sched/state/leaving.h"

namespace mr::sched {

namespace {

std::string OpenName(const TaskId& id) { return std::to_string(id.stage) + "/" + std::to_string(id.task); }

bool Reads(const Job& job, uint32_t stage, const Task& reader, const TaskId& output) {
  const auto& inputs = job.graph.stages[stage].inputs;
  return std::any_of(reader.plan.slices.begin(), reader.plan.slices.end(), [&](const Slice& s) {
    return inputs[s.input].upstream == output.stage && s.task_begin <= output.task && output.task < s.task_end;
  });
}

}  // namespace

TaskId ParseOpen(JobId job, const std::string& name) {
  TaskId id{job, 0, 0};
  const char* end = name.data() + name.size();
  const auto stage = std::from_chars(name.data(), end, id.stage);
  std::from_chars(stage.ptr + 1, end, id.task);
  return id;
}

void ReplicaAssigner::OutputMoved(const Job& job, const TaskId& id, bool committed_now) {
  const Task& task = job.stages[id.stage].tasks[id.task];
  if (task.state != TaskState::kCommitted || task.replicas.empty()) return;
  const bool more = task.live > 0 && task.replicas.size() < task.wanted_replicas;
  if (committed_now && more && !IsOpen(id)) {
    if (!ReadersMayBeTold(job, id.stage))
      EndSiblings(job, id);
    else if (const size_t waiting = WantedOfSpares(id))
      EndSpares(id, waiting);
    else
      Open(job, id);
  }
  if (!more) Close(id);
  for (const uint32_t stage : job.stages[id.stage].readers) BindReaders(job, stage, id);
}

void ReplicaAssigner::ReaderMoved(const Job& job, const AttemptId& id) {
  const auto& inputs = job.graph.stages[id.task.stage].inputs;
  for (const Slice& slice : job.stages[id.task.stage].tasks[id.task.task].plan.slices) {
    for (uint32_t t = slice.task_begin; t < slice.task_end; ++t) {
      const TaskId output{job.id, inputs[slice.input].upstream, t};
      if (!job.stages[output.stage].tasks[t].replicas.empty()) BindReader(job, id, output);
    }
  }
}

void ReplicaAssigner::ReadFailed(const Job& job, const AttemptId& id, const Replica& from) {
  const TaskId& output = from.output.task;
  const Attempt* a = view_.state().FindAttempt(id);
  if (a == nullptr || !a->live() || !a->by_bind || a->inputs_done || output.job != job.id) return;
  const ReplicaPlace failed{from.output.generation, from.attempt, from.worker, from.incarnation};
  const BoundRead* read = job.bindings.Find(id, output.stage, output.task);
  if (read == nullptr || read->done || !(read->replica == failed)) return;
  const Best best = BestReplica(job, id.task, output, &failed);
  if (best.replica != nullptr) Tell(job, id, output, best);
}

void ReplicaAssigner::GiveWay(const Job& job, const TaskId& id) {
  const size_t waiting = WantedOfSpares(id);
  if (waiting == 0) return;
  Close(id);
  for (const uint32_t stage : job.stages[id.stage].readers) BindReaders(job, stage, id);
  EndSpares(id, waiting);
}

void ReplicaAssigner::TimerDue(const Job& job) {
  int64_t next = 0;
  std::vector<TaskId> over;
  view_.EachFact(kOpenOutputs, FactId(job.id), [&](const std::string& name, const FactValue& value) {
    const int64_t until = std::get<int64_t>(value);
    if (until <= view_.now().ns)
      over.push_back(ParseOpen(job.id, name));
    else if (until != kNever.ns && (next == 0 || until < next))
      next = until;
  });
  for (const TaskId& id : over) {
    Close(id);
    for (const uint32_t stage : job.stages[id.stage].readers) BindReaders(job, stage, id);
    EndSiblings(job, id);
  }
  if (next != 0) plan_.WakeAt(FactId(job.id), Instant{next});
}

bool ReplicaAssigner::IsOpen(const TaskId& id) const {
  const auto it = open_.find(id);
  return it != open_.end() ? it->second : view_.FindFact(kOpenOutputs, FactId(id.job), OpenName(id)) != nullptr;
}

void ReplicaAssigner::Open(const Job& job, const TaskId& id) {
  const Duration omega = omega_.Of(view_, job, id);
  if (omega.ns == 0) return EndSiblings(job, id);
  open_[id] = true;
  if (omega >= kForever) {
    plan_.Remember(kOpenOutputs, FactId(id.job), OpenName(id), kNever.ns);
    return;
  }
  const Instant until = view_.now() + omega;
  plan_.Remember(kOpenOutputs, FactId(id.job), OpenName(id), until.ns);
  const Instant* timer = view_.FindTimer(FactId(id.job));
  const bool earlier = (timer == nullptr || until < *timer) && (woken_.ns == 0 || until < woken_);
  if (earlier) plan_.WakeAt(FactId(id.job), woken_ = until);
}

void ReplicaAssigner::Close(const TaskId& id) {
  if (!IsOpen(id)) return;
  open_[id] = false;
  plan_.Forget(kOpenOutputs, FactId(id.job), OpenName(id));
}

void ReplicaAssigner::EndSiblings(const Job& job, const TaskId& id) {
  const Task& task = job.stages[id.stage].tasks[id.task];
  if (task.state != TaskState::kCommitted || task.replicas.empty()) return;
  const double waited = (view_.now() - FirstReplicaAt(task)).seconds();
  for (const Attempt& a : task.attempts) {
    if (a.live())
      plan_.Kill({id, a.number}, {DollyReason::kNoMoreReplicas, "", {double(task.replicas.size()), waited}});
  }
}

size_t ReplicaAssigner::WantedOfSpares(const TaskId& id) const {
  const Task& task = *view_.state().FindTask(id);
  const auto lent = [](const Attempt& a) {
    return a.cause == Cause::kOpportunistic && a.state == AttemptState::kCommitted;
  };
  if (task.state != TaskState::kCommitted || task.replicas.empty() || task.wanted > 1) return 0;
  if (std::none_of(task.attempts.begin(), task.attempts.end(), lent)) return 0;
  for (const Attempt& a : task.attempts) {
    const size_t waiting = a.live() ? TasksInNeedOf(view_.state(), {id, a.number}, coming_) : 0;
    if (waiting > 0) return waiting;
  }
  return 0;
}

void ReplicaAssigner::EndSpares(const TaskId& id, size_t waiting) {
  for (const Attempt& a : view_.state().FindTask(id)->attempts) {
    if (a.live()) coming_ += plan_.Kill({id, a.number}, {DollyReason::kSpareClone, "", {double(waiting)}});
  }
}

Instant ReplicaAssigner::FirstReplicaAt(const Task& task) {
  for (const Attempt& a : task.attempts) {
    if (a.number == task.winner) return a.ended_at;
  }
  return {};
}

void ReplicaAssigner::BindReaders(const Job& job, uint32_t stage, const TaskId& output) {
  for (const auto& [t, number] : job.stages[stage].active) {
    const Task& reader = job.stages[stage].tasks[t];
    if (Reads(job, stage, reader, output)) BindReader(job, {{job.id, stage, t}, number}, output);
  }
}

void ReplicaAssigner::BindReader(const Job& job, const AttemptId& reader, const TaskId& output) {
  const Attempt* a = view_.state().FindAttempt(reader);
  if (a == nullptr || !a->live() || !a->by_bind || a->inputs_done) return;
  if (job.bindings.Find(reader, output.stage, output.task) != nullptr || told_.count({reader, output}) != 0) return;
  const Task& up = job.stages[output.stage].tasks[output.task];
  const Best best = BestReplica(job, reader.task, output, nullptr);
  // An output may be open though no replica is coming: another list was in force meanwhile.
  const bool coming = up.live > 0 && up.replicas.size() < up.wanted_replicas;
  if (best.replica != nullptr && (best.own || !coming || !IsOpen(output))) Tell(job, reader, output, best);
}

ReplicaAssigner::Best ReplicaAssigner::BestReplica(const Job& job, const TaskId& reader, const TaskId& output,
                                                   const ReplicaPlace* but) const {
  Best best;
  for (const ReplicaPlace& replica : job.stages[output.stage].tasks[output.task].replicas) {
    if (but != nullptr && replica == *but) continue;
    const bool own = !UsedByGroup(job, reader, output, replica);
    const uint32_t readers = Readers(job, output, replica);
    const bool leaves = Leaves(view_.state(), replica.worker);
    const bool better = leaves != best.leaves ? best.leaves : own != best.own ? own : readers < best.readers;
    if (best.replica == nullptr || better) best = {&replica, readers, own, leaves};
  }
  return best;
}

void ReplicaAssigner::Tell(const Job& job, const AttemptId& reader, const TaskId& output, const Best& best) {
  const Task& up = job.stages[output.stage].tasks[output.task];
  const double waited = (view_.now() - FirstReplicaAt(up)).seconds();
  const Reason reason = best.own ? Reason{DollyReason::kOwnReplica, "", {waited}}
                                 : Reason{DollyReason::kSharedReplica, "", {double(best.readers) + 1, waited}};
  if (!plan_.Bind(reader, view_.state().MakeReplica(output, *best.replica), reason, best.own)) return;
  told_.insert({reader, output});
  const size_t place = PlaceOf(job, output, *best.replica);
  ++drafted_[{output, place}];
  groups_.insert({reader.task, output, place});
}

bool ReplicaAssigner::UsedByGroup(const Job& job, const TaskId& reader, const TaskId& output,
                                  const ReplicaPlace& replica) const {
  return groups_.count({reader, output, PlaceOf(job, output, replica)}) != 0 ||
         job.bindings.Used(reader, output.stage, output.task, replica);
}

uint32_t ReplicaAssigner::Readers(const Job& job, const TaskId& output, const ReplicaPlace& replica) const {
  const auto it = drafted_.find({output, PlaceOf(job, output, replica)});
  return job.bindings.Reading(output.stage, output.task, replica) + (it == drafted_.end() ? 0 : it->second);
}

size_t ReplicaAssigner::PlaceOf(const Job& job, const TaskId& output, const ReplicaPlace& replica) {
  return static_cast<size_t>(&replica - job.stages[output.stage].tasks[output.task].replicas.data());
}

}  // namespace mr::sched
