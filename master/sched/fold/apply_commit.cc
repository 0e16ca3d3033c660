// Reports of finished attempts: which of them commits its task, and how committed outputs get lost and are made
// again.
//
// The rule of consumption: a report is valid if each digest that it consumed equals the content that its upstream
// task has committed, from any replica and generation. While an upstream task runs again its content stands as
// committed. Equal content then changes nothing; different content rolls back every reader that committed on the old
// one.
#include <algorithm>
#include <set>

#include "master/sched/fold/core.h"

namespace mr::sched {

void Core::Answer(const AttemptFinished& e, ReasonCode code, std::vector<double> numbers) {
  Emit(Refuse{e.attempt, e.worker, e.incarnation, {code, "", std::move(numbers)}});
}

void Core::On(const AttemptFinished& e) {
  Fetch(e.attempt, e.worker);
  unended_.Remove(e.attempt, e.worker, e.incarnation);
  const Attempt* a = state_.FindAttempt(e.attempt);
  if (a == nullptr || a->worker != e.worker || a->incarnation != e.incarnation) {
    Answer(e, ReasonCode::kStale);
    return;
  }
  const Job& job = *state_.FindJob(e.attempt.task.job);
  const Task& task = *state_.FindTask(e.attempt.task);
  if (!a->holds_slot()) {
    const ReplicaPlace place{task.generation, a->number, a->worker, a->incarnation};
    const bool won = task.winner == a->number;
    const bool kept = std::find(task.replicas.begin(), task.replicas.end(), place) != task.replicas.end();
    if (a->state == AttemptState::kCommitted && task.state == TaskState::kCommitted && (won || kept)) {
      // A repeat of an accepted report gets the same answer.
      Emit(Accept{e.attempt,
                  e.worker,
                  e.incarnation,
                  won,
                  state_.MakeReplica(e.attempt.task, place),
                  task.manifest,
                  {won ? ReasonCode::kFirstReport : ReasonCode::kEqualDigest, "", {}}});
    } else {
      Answer(e, job.running() ? ReasonCode::kStale : ReasonCode::kJobEnded);
    }
    return;
  }
  StartsAgain(e.worker);
  if (!job.running() || task.state == TaskState::kCommitted || a->generation != task.generation) {
    LateReport(e);
    return;
  }
  const std::string wrong = CheckConsumed(e);
  if (!wrong.empty()) {
    // Its input was lost or made again: not the fault of its worker.
    EndAttempt(e.attempt, AttemptState::kDiscarded, FailureKind::kLost);
    Answer(e, ReasonCode::kConsumedStale);
    Charge(e.attempt, FailureKind::kLost, wrong);
    HoldBack(e.attempt.task, FailureKind::kLost);
    return;
  }
  CommitTask(e);
}

// Handles a report of an attempt whose task has been committed, or lost since the attempt began.
void Core::LateReport(const AttemptFinished& e) {
  const Job& job = *state_.FindJob(e.attempt.task.job);
  const Task& task = *state_.FindTask(e.attempt.task);
  // Losers are being killed by now. A live one was launched to make the output a second time.
  const bool wanted = job.running() && task.state == TaskState::kCommitted && state_.FindAttempt(e.attempt)->live();
  if (wanted && task.manifest.content == e.manifest.content) return KeepReplica(e);
  EndAttempt(e.attempt, AttemptState::kDiscarded, FailureKind::kPreempted);
  if (!job.running()) {
    Answer(e, ReasonCode::kJobEnded);
  } else if (task.state != TaskState::kCommitted) {
    Answer(e, ReasonCode::kStale);
  } else if (task.manifest.content == e.manifest.content) {
    Answer(e, ReasonCode::kEqualDigest, {double(task.winner)});
  } else {
    MarkIndeterminateStage(e.attempt.task.stage_id());
    Emit(MarkIndeterminate{
        e.attempt.task, task.manifest.content, e.manifest.content, {ReasonCode::kDifferentDigest, "", {0}}});
    Answer(e, ReasonCode::kDifferentDigest, {double(task.winner)});
  }
}

void Core::KeepReplica(const AttemptFinished& e) {
  const TaskId& id = e.attempt.task;
  state_.EditAttempt(e.attempt, [&](Attempt& a) {
    a.ran = e.ran;
    a.waited = e.waited;
  });
  state_.MoveAttempt(e.attempt, AttemptState::kCommitted, now_);
  changed.push_back(e.attempt);
  freed.insert(e.worker);
  const Task& task = *state_.FindTask(id);
  const ReplicaPlace place{task.generation, e.attempt.number, e.worker, e.incarnation};
  state_.AddReplica(id, place);
  state_.EditWorker(e.worker, [](Worker& w) { ++w.outputs_made; });
  Emit(Accept{e.attempt,
              e.worker,
              e.incarnation,
              false,
              state_.MakeReplica(id, place),
              task.manifest,
              {ReasonCode::kEqualDigest, "", {double(task.winner)}}});
  if (task.wanted_replicas > 1 && task.replicas.size() >= task.wanted_replicas) EndSiblings(id, task.winner);
}

// Returns the error in what the attempt consumed, or "".
std::string Core::CheckConsumed(const AttemptFinished& e) const {
  const TaskId& id = e.attempt.task;
  const Job& job = *state_.FindJob(id.job);
  const auto& inputs = job.graph.stages[id.stage].inputs;
  const auto text = [&](uint32_t stage, uint32_t task) {
    const bool known = stage < job.graph.stages.size();  // a report may name anything
    return "the output of task " + std::to_string(task) + " of stage " +
           (known ? "'" + job.graph.stages[stage].name + "'" : std::to_string(stage));
  };
  // Stage and task in one word. Most reports list them in order.
  std::vector<uint64_t> seen;
  seen.reserve(e.consumed.size());
  const auto word = [](uint32_t stage, uint32_t task) { return uint64_t{stage} << 32 | task; };
  bool sorted = true;
  for (const Consumed& c : e.consumed) {
    const bool exists = c.stage < job.stages.size() && c.task < job.stages[c.stage].contents.size();
    const Content* up = exists ? &job.stages[c.stage].contents[c.task] : nullptr;
    if (up == nullptr || up->generation == 0 || c.generation > up->generation || c.content != up->digest) {
      return text(c.stage, c.task) + " that it consumed is not the committed one";
    }
    sorted = sorted && (seen.empty() || seen.back() <= word(c.stage, c.task));
    seen.push_back(word(c.stage, c.task));
  }
  if (!sorted) std::sort(seen.begin(), seen.end());
  for (const Slice& slice : state_.FindTask(id)->plan.slices) {
    const uint32_t up = inputs[slice.input].upstream;
    auto it = std::lower_bound(seen.begin(), seen.end(), word(up, slice.task_begin));
    for (uint32_t t = slice.task_begin; t < slice.task_end; ++t) {
      while (it != seen.end() && *it < word(up, t)) ++it;
      if (it == seen.end() || *it != word(up, t)) return "it did not say that it consumed " + text(up, t);
    }
  }
  return "";
}

void Core::MarkIndeterminateStage(StageId id) {
  const Job& job = *state_.FindJob(id.job);
  const Stage& stage = job.stages[id.stage];
  if (stage.indeterminate) return;
  state_.MarkStageIndeterminate(id);
  const auto stop = [&](uint32_t s) {
    for (uint32_t t = 0; t < job.stages[s].tasks.size(); ++t) {
      const TaskId task{id.job, s, t};
      if (job.stages[s].tasks[t].wanted == 1) continue;
      state_.EditTask(task, [](Task& one) { one.wanted = 1; });
      for (const Attempt& a : job.stages[s].tasks[t].attempts) {
        if (a.live()) changed.push_back({task, a.number});  // policies that reserve room for its clones must see this
      }
    }
  };
  stop(id.stage);
  for (const uint32_t reader : stage.readers) stop(reader);
}

void Core::CommitTask(const AttemptFinished& e) {
  const TaskId& id = e.attempt.task;
  const Task& task = *state_.FindTask(id);
  const StageSpec& spec = state_.Spec(id.stage_id());
  const bool differs = task.has_content && task.manifest.content != e.manifest.content;
  const Digest128 old = task.manifest.content;
  state_.Commit(e.attempt, e.manifest, now_, e.ran, e.waited);
  changed.push_back(e.attempt);
  freed.insert(e.worker);
  const ReplicaPlace place{task.generation, e.attempt.number, e.worker, e.incarnation};
  if (!spec.is_final) {
    state_.AddReplica(id, place);
    state_.EditWorker(e.worker, [](Worker& w) { ++w.outputs_made; });
    if (state_.FindWorker(e.worker)->draining) moves.outputs.push_back(id);
  }
  Emit(Accept{e.attempt,
              e.worker,
              e.incarnation,
              true,
              state_.MakeReplica(id, place),
              e.manifest,
              {ReasonCode::kFirstReport, "", {}}});
  if (spec.is_final || task.replicas.size() >= task.wanted_replicas || differs) EndSiblings(id, e.attempt.number);
  if (differs) {
    MarkIndeterminateStage(id.stage_id());
    const size_t at = out_->size();
    const uint32_t rolled_back = RollBackReaders(id);
    out_->insert(
        out_->begin() + static_cast<std::ptrdiff_t>(at),
        MarkIndeterminate{id, old, e.manifest.content, {ReasonCode::kIndeterminate, "", {double(rolled_back)}}});
  }
  if (spec.is_final) CommitIfComplete(id.job);
}

void Core::EndSiblings(const TaskId& id, uint32_t winner) {
  const Task& task = *state_.FindTask(id);
  const size_t attempts = task.attempts.size();
  for (size_t i = 0; i < attempts; ++i) {
    if (!task.attempts[i].live()) continue;
    KillNow({id, task.attempts[i].number}, {ReasonCode::kTaskCommitted, "", {double(winner)}});
  }
}

void Core::TakeReplica(const TaskId& id, const ReplicaPlace& place) {
  for (const AttemptId& reader : state_.RemoveReplica(id, place)) changed.push_back(reader);
}

void Core::DropSpares() {
  const auto idle = [](const Stage& stage) { return stage.complete() && stage.active.empty(); };
  std::set<StageId> made;
  for (const AttemptId& id : changed) {
    const Job* job = state_.FindJob(id.task.job);
    if (job == nullptr || !job->running()) continue;
    const auto none = [&](Cause cause) { return job->causes[CauseIndex(cause)].launched == 0; };
    if (none(Cause::kClone) && none(Cause::kOpportunistic)) continue;
    made.insert(id.task.stage_id());  // a clone may run on when all is read
    if (!idle(job->stages[id.task.stage])) continue;
    for (const StageInput& input : job->graph.stages[id.task.stage].inputs) {
      if (input.is_edge) made.insert({job->id, input.upstream});
    }
  }
  for (const StageId& id : made) {
    const Job& job = *state_.FindJob(id.job);
    const Stage& stage = job.stages[id.stage];
    const auto done = [&](uint32_t reader) { return idle(job.stages[reader]); };
    if (stage.readers.empty() || !std::all_of(stage.readers.begin(), stage.readers.end(), done)) continue;
    for (uint32_t t = 0; t < stage.tasks.size(); ++t) {
      const TaskId task{id.job, id.stage, t};
      // Replicas that a policy had made elsewhere stay, in case readers' outputs are lost.
      while (stage.tasks[t].wanted_replicas > 1 && stage.tasks[t].replicas.size() > 1) {
        const ReplicaPlace place = stage.tasks[t].replicas.back();
        const Replica replica = state_.MakeReplica(task, place);
        TakeReplica(task, place);
        Emit(DropReplica{replica, {ReasonCode::kReadersDone, "", {double(stage.tasks[t].replicas.size())}}});
      }
    }
  }
}

void Core::LoseReplica(const TaskId& id, const ReplicaPlace& place, ReasonCode code) {
  const Replica replica = state_.MakeReplica(id, place);
  TakeReplica(id, place);
  moves.look = true;  // it may have been the one that stays
  Emit(DropReplica{replica, {code, "", {double(place.generation)}}});
  const Job& job = *state_.FindJob(id.job);
  const Task& task = *state_.FindTask(id);
  if (job.running()) state_.EditWorker(place.worker, [](Worker& w) { ++w.outputs_lost; });
  if (!job.running() || task.state != TaskState::kCommitted || !task.replicas.empty()) return;
  if (job.graph.stages[id.stage].is_final) return;
  if (state_.Needed(job, id))
    ReturnTask(id);
  else
    EndRemakesOf(id);
}

void Core::EndRemakesOf(const TaskId& input) {
  const Job& job = *state_.FindJob(input.job);
  std::vector<AttemptId> waiting;
  for (const uint32_t r : job.stages[input.stage].readers) {
    for (const auto& [t, number] : job.stages[r].active) {
      const Task& reader = job.stages[r].tasks[t];
      const AttemptId id{{input.job, r, t}, number};
      const Attempt& a = *state_.FindAttempt(id);
      if (reader.state == TaskState::kCommitted && a.live() && !a.inputs_done) waiting.push_back(id);
    }
  }
  for (const AttemptId& id : waiting) KillNow(id, {ReasonCode::kInputLost, "", {double(input.task)}});
}

// Makes a committed task run again.
void Core::ReturnTask(const TaskId& id) {
  state_.EditTask(id, [&](Task& t) {
    t.state = t.live > 0 ? TaskState::kRunning : TaskState::kPending;
    ++t.generation;
    t.winner = 0;
    t.lost = true;
    t.pending_since = now_;
    // A remake of the output already makes what is needed now.
    for (const Attempt& a : t.attempts) {
      if (a.live()) state_.EditAttempt({id, a.number}, [&](Attempt& live) { live.generation = t.generation; });
    }
  });
  state_.DropAsked(id);
  moves.look = true;  // its inputs are needed again
  NeedInputs(id);
}

// Makes the tasks run again that this task reads and whose outputs were lost while no reader needed them.
void Core::NeedInputs(const TaskId& id) {
  const Job& job = *state_.FindJob(id.job);
  const auto& inputs = job.graph.stages[id.stage].inputs;
  for (const Slice& slice : state_.FindTask(id)->plan.slices) {
    const uint32_t up = inputs[slice.input].upstream;
    const std::set<uint32_t>& bare = job.stages[up].bare;
    const std::vector<uint32_t> again(bare.lower_bound(slice.task_begin), bare.lower_bound(slice.task_end));
    for (const uint32_t t : again) {
      if (job.stages[up].tasks[t].state == TaskState::kCommitted) ReturnTask({id.job, up, t});
    }
  }
}

// Rolls back every committed task that read this output, and their readers in turn. Returns their number.
uint32_t Core::RollBackReaders(const TaskId& id) {
  const Job& job = *state_.FindJob(id.job);
  const Stage& stage = job.stages[id.stage];
  uint32_t n = 0;
  for (const uint32_t r : stage.readers) {
    const Stage& reader = job.stages[r];
    const auto& inputs = job.graph.stages[r].inputs;
    for (uint32_t t = 0; t < reader.tasks.size(); ++t) {
      if (reader.tasks[t].state != TaskState::kCommitted && !reader.tasks[t].has_content) continue;
      for (const Slice& slice : reader.tasks[t].plan.slices) {
        if (inputs[slice.input].upstream != id.stage) continue;
        if (id.task < slice.task_begin || id.task >= slice.task_end) continue;
        n += RollBack({id.job, r, t});
        break;
      }
    }
  }
  return n;
}

uint32_t Core::RollBack(const TaskId& id) {
  const std::vector<ReplicaPlace> replicas = state_.FindTask(id)->replicas;
  const bool committed = state_.FindTask(id)->state == TaskState::kCommitted;
  for (const ReplicaPlace& place : replicas) {
    TakeReplica(id, place);
    Emit(DropReplica{state_.MakeReplica(id, place), {ReasonCode::kIndeterminate, "", {double(place.generation)}}});
  }
  state_.EditTask(id, [](Task& t) { t.has_content = false; });
  if (committed) ReturnTask(id);
  return RollBackReaders(id) + 1;
}

void Core::On(const ReplicaMade& e) {
  const Task* task = state_.FindTask(e.replica.output.task);
  const ReplicaPlace place{e.replica.output.generation, e.replica.attempt, e.replica.worker, e.replica.incarnation};
  const bool repeat = task != nullptr && state_.FindJob(e.replica.output.task.job)->running() &&
                      std::find(task->replicas.begin(), task->replicas.end(), place) != task->replicas.end();
  if (!repeat && !TakeMade(e.replica)) Emit(DropReplica{e.replica, {ReasonCode::kStale, "", {}}});
}

// A replica that was not asked for is refused, since nothing vouches for its content.
bool Core::TakeMade(const Replica& replica) {
  const TaskId& id = replica.output.task;
  const Task* task = state_.FindTask(id);
  const bool good = task != nullptr && task->state == TaskState::kCommitted &&
                    task->generation == replica.output.generation && Current(replica.worker, replica.incarnation);
  if (!good || !state_.EndAsked(replica.output, replica.attempt, replica.worker)) return false;
  state_.AddReplica(id, {replica.output.generation, replica.attempt, replica.worker, replica.incarnation});
  state_.EditWorker(replica.worker, [](Worker& w) { ++w.outputs_made; });
  moves.outputs.push_back(id);
  return true;
}

void Core::On(const ReplicaNotMade& e) {
  const TaskId& id = e.from.output.task;
  const Task* task = state_.FindTask(id);
  if (task == nullptr || !state_.FindJob(id.job)->running() || task->state != TaskState::kCommitted) return;
  if (!state_.EndAsked(e.from.output, e.from.attempt, e.worker)) return;  // a repeat
  if (!task->replicas.empty()) not_made.push_back(e);
}

void Core::On(const ReplicaLost& e) {
  const TaskId& id = e.replica.output.task;
  const Task* task = state_.FindTask(id);
  if (task == nullptr) return;
  const ReplicaPlace place{e.replica.output.generation, e.replica.attempt, e.replica.worker, e.replica.incarnation};
  if (std::find(task->replicas.begin(), task->replicas.end(), place) == task->replicas.end()) return;
  suspected.emplace_back(e.replica, AttemptId{});
  LoseReplica(id, place, ReasonCode::kOutputLost);
}

}  // namespace mr::sched
