#include "master/sched/policies/copy_assigner.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "master/sched/policies/lent_slots.h"
#include "master/sched/policies/reads_clones.h"

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

void CopyAssigner::OutputMoved(const Job& job, const TaskId& id, bool committed_now) {
  const Task& task = job.stages[id.stage].tasks[id.task];
  if (task.state != TaskState::kCommitted || task.copies.empty()) return;
  const bool more = task.live > 0 && task.copies.size() < task.wanted_copies;
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

void CopyAssigner::ReaderMoved(const Job& job, const AttemptId& id) {
  const auto& inputs = job.graph.stages[id.task.stage].inputs;
  for (const Slice& slice : job.stages[id.task.stage].tasks[id.task.task].plan.slices) {
    for (uint32_t t = slice.task_begin; t < slice.task_end; ++t) {
      const TaskId output{job.id, inputs[slice.input].upstream, t};
      if (!job.stages[output.stage].tasks[t].copies.empty()) BindReader(job, id, output);
    }
  }
}

void CopyAssigner::ReadFailed(const Job& job, const AttemptId& id, const Copy& from) {
  const TaskId& output = from.output.task;
  const Attempt* a = view_.state().FindAttempt(id);
  if (a == nullptr || !a->live() || !a->by_bind || a->inputs_done || output.job != job.id) return;
  const CopyPlace failed{from.output.generation, from.attempt, from.worker, from.incarnation};
  const BoundRead* read = job.bindings.Find(id, output.stage, output.task);
  if (read == nullptr || read->done || !(read->copy == failed)) return;
  const Best best = BestCopy(job, id.task, output, &failed);
  if (best.copy != nullptr) Tell(job, id, output, best);
}

void CopyAssigner::GiveWay(const Job& job, const TaskId& id) {
  const size_t waiting = WantedOfSpares(id);
  if (waiting == 0) return;
  Close(id);
  for (const uint32_t stage : job.stages[id.stage].readers) BindReaders(job, stage, id);
  EndSpares(id, waiting);
}

void CopyAssigner::TimerDue(const Job& job) {
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

bool CopyAssigner::IsOpen(const TaskId& id) const {
  const auto it = open_.find(id);
  return it != open_.end() ? it->second : view_.FindFact(kOpenOutputs, FactId(id.job), OpenName(id)) != nullptr;
}

void CopyAssigner::Open(const Job& job, const TaskId& id) {
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

void CopyAssigner::Close(const TaskId& id) {
  if (!IsOpen(id)) return;
  open_[id] = false;
  plan_.Forget(kOpenOutputs, FactId(id.job), OpenName(id));
}

void CopyAssigner::EndSiblings(const Job& job, const TaskId& id) {
  const Task& task = job.stages[id.stage].tasks[id.task];
  if (task.state != TaskState::kCommitted || task.copies.empty()) return;
  const double waited = (view_.now() - FirstCopyAt(task)).seconds();
  for (const Attempt& a : task.attempts) {
    if (a.live()) plan_.Kill({id, a.number}, {ReasonCode::kNoMoreCopies, "", {double(task.copies.size()), waited}});
  }
}

size_t CopyAssigner::WantedOfSpares(const TaskId& id) const {
  const Task& task = *view_.state().FindTask(id);
  const auto lent = [](const Attempt& a) {
    return a.cause == Cause::kOpportunistic && a.state == AttemptState::kCommitted;
  };
  if (task.state != TaskState::kCommitted || task.copies.empty() || task.wanted > 1) return 0;
  if (std::none_of(task.attempts.begin(), task.attempts.end(), lent)) return 0;
  for (const Attempt& a : task.attempts) {
    const size_t waiting = a.live() ? TasksInNeedOf(view_.state(), {id, a.number}, coming_) : 0;
    if (waiting > 0) return waiting;
  }
  return 0;
}

void CopyAssigner::EndSpares(const TaskId& id, size_t waiting) {
  for (const Attempt& a : view_.state().FindTask(id)->attempts) {
    if (a.live()) coming_ += plan_.Kill({id, a.number}, {ReasonCode::kSpareCopy, "", {double(waiting)}});
  }
}

Instant CopyAssigner::FirstCopyAt(const Task& task) {
  for (const Attempt& a : task.attempts) {
    if (a.number == task.winner) return a.ended_at;
  }
  return {};
}

void CopyAssigner::BindReaders(const Job& job, uint32_t stage, const TaskId& output) {
  for (const auto& [t, number] : job.stages[stage].active) {
    const Task& reader = job.stages[stage].tasks[t];
    if (Reads(job, stage, reader, output)) BindReader(job, {{job.id, stage, t}, number}, output);
  }
}

void CopyAssigner::BindReader(const Job& job, const AttemptId& reader, const TaskId& output) {
  const Attempt* a = view_.state().FindAttempt(reader);
  if (a == nullptr || !a->live() || !a->by_bind || a->inputs_done) return;
  if (job.bindings.Find(reader, output.stage, output.task) != nullptr || told_.count({reader, output}) != 0) return;
  const Task& up = job.stages[output.stage].tasks[output.task];
  const Best best = BestCopy(job, reader.task, output, nullptr);
  // Also where another list was in force meanwhile, and the output's time was left open.
  const bool coming = up.live > 0 && up.copies.size() < up.wanted_copies;
  if (best.copy != nullptr && (best.own || !coming || !IsOpen(output))) Tell(job, reader, output, best);
}

CopyAssigner::Best CopyAssigner::BestCopy(const Job& job, const TaskId& reader, const TaskId& output,
                                          const CopyPlace* but) const {
  Best best;
  for (const CopyPlace& copy : job.stages[output.stage].tasks[output.task].copies) {
    if (but != nullptr && copy == *but) continue;
    const bool own = !UsedByGroup(job, reader, output, copy);
    const uint32_t readers = Readers(job, output, copy);
    const bool better = own != best.own ? own : readers < best.readers;
    if (best.copy == nullptr || better) best = {&copy, readers, own};
  }
  return best;
}

void CopyAssigner::Tell(const Job& job, const AttemptId& reader, const TaskId& output, const Best& best) {
  const Task& up = job.stages[output.stage].tasks[output.task];
  const double waited = (view_.now() - FirstCopyAt(up)).seconds();
  const Reason reason = best.own ? Reason{ReasonCode::kOwnCopy, "", {waited}}
                                 : Reason{ReasonCode::kSharedCopy, "", {double(best.readers) + 1, waited}};
  if (!plan_.Bind(reader, view_.state().MakeCopy(output, *best.copy), reason, best.own)) return;
  told_.insert({reader, output});
  const size_t place = PlaceOf(job, output, *best.copy);
  ++drafted_[{output, place}];
  groups_.insert({reader.task, output, place});
}

bool CopyAssigner::UsedByGroup(const Job& job, const TaskId& reader, const TaskId& output,
                               const CopyPlace& copy) const {
  return groups_.count({reader, output, PlaceOf(job, output, copy)}) != 0 ||
         job.bindings.Used(reader, output.stage, output.task, copy);
}

uint32_t CopyAssigner::Readers(const Job& job, const TaskId& output, const CopyPlace& copy) const {
  const auto it = drafted_.find({output, PlaceOf(job, output, copy)});
  return job.bindings.Reading(output.stage, output.task, copy) + (it == drafted_.end() ? 0 : it->second);
}

size_t CopyAssigner::PlaceOf(const Job& job, const TaskId& output, const CopyPlace& copy) {
  return static_cast<size_t>(&copy - job.stages[output.stage].tasks[output.task].copies.data());
}

}  // namespace mr::sched
