// Checks the whole state, for tests: computes every derived number and index anew and compares.
#include <algorithm>

#include "master/sched/job_profile.h"
#include "master/sched/state/state.h"

namespace mr::sched {

namespace {

std::string At(const TaskId& id) {
  return Name(id.job) + " stage " + std::to_string(id.stage) + " task " + std::to_string(id.task) + ": ";
}

std::string CheckTask(const State& state, const Job& job, const TaskId& id, const Task& task) {
  const StageSpec& spec = job.graph.stages[id.stage];
  const Stage& stage = job.stages[id.stage];
  uint32_t live = 0, holding = 0, number = 0;
  for (const Attempt& a : task.attempts) {
    live += a.live();
    holding += a.holds_slot();
    if (a.number <= number) return At(id) + "attempt numbers do not ascend";
    number = a.number;
    const Worker* w = state.FindWorker(a.worker);
    if (w == nullptr) return At(id) + "attempt on an unknown worker";
    if (a.holds_slot() != (w->attempts.count({id, a.number}) != 0)) {
      return At(id) + "its worker does not agree that it holds a slot";
    }
    if (a.holds_slot() != (stage.active.Contains({id.task, a.number}))) {
      return At(id) + "the stage's active attempts are wrong";
    }
    if (a.holds_slot() && (!w->alive || w->incarnation != a.incarnation)) {
      return At(id) + "an attempt outlived its worker";
    }
    if (a.live() && !job.running()) return At(id) + "a live attempt of an ended job";
  }
  if (live != task.live || holding != task.holding) return At(id) + "attempt counts are wrong";
  if (spec.side_effects && live > 1) return At(id) + "two live attempts with side effects";
  if (!task.unended.empty() && (!spec.side_effects || !job.running())) return At(id) + "an end is awaited for nothing";
  if (!task.unended.empty() != (state.unended().count(id) != 0)) return At(id) + "awaited ends are listed wrong";
  const bool committed = task.state == TaskState::kCommitted;
  // If more replicas are wanted, all running attempts go on, also speculative ones and clones on lent slots.
  if (committed ? live > 1 && task.wanted_replicas == 1 : (task.state == TaskState::kRunning) != (live > 0)) {
    return At(id) + "state and attempts differ";
  }
  if (committed && (task.winner == 0 || !task.has_content)) return At(id) + "committed, no winner";
  uint32_t missing = 0;
  for (const Slice& s : task.plan.slices) {
    const Stage& up = job.stages[job.graph.stages[id.stage].inputs[s.input].upstream];
    if (s.task_begin == 0 && s.task_end == up.tasks.size()) continue;
    for (uint32_t t = s.task_begin; t < s.task_end; ++t) {
      missing += up.tasks[t].state != TaskState::kCommitted;
    }
  }
  if (missing != task.partial_missing) return At(id) + "missing inputs are counted wrong";
  const Content& content = job.stages[id.stage].contents[id.task];
  if (content.digest != task.manifest.content || content.generation != (task.has_content ? task.generation : 0)) {
    return At(id) + "its content is noted wrong";
  }
  for (const ReplicaPlace& c : task.replicas) {
    const Worker* w = state.FindWorker(c.worker);
    if (w == nullptr || !w->alive || w->incarnation != c.incarnation) return At(id) + "a dead replica";
    if (!committed || c.generation != task.generation) return At(id) + "a replica of an old output";
    if (!w->replicas.Contains({id, c.attempt})) return At(id) + "its worker does not know the replica";
  }
  if (!job.running()) return task.replicas.empty() ? "" : At(id) + "a replica of an ended job";
  const bool bare = committed && !spec.is_final && task.replicas.empty();
  if (bare != (stage.bare.count(id.task) != 0)) return At(id) + "bare outputs are indexed wrong";
  if (bare && state.Needed(job, id)) return At(id) + "its lost output is needed and not made again";
  return "";
}

// Checks that the pools have exactly the schedulable tasks.
std::string CheckPools(const Job& job, uint32_t s) {
  const StageSpec& spec = job.graph.stages[s];
  const Stage& stage = job.stages[s];
  std::vector<uint32_t> uncommitted(stage.classes.size());
  for (uint32_t t = 0; t < stage.tasks.size(); ++t) {
    const Task& task = stage.tasks[t];
    const TaskClass& c = stage.classes[task.task_class];
    const bool open = task.state != TaskState::kCommitted;
    uncommitted[task.task_class] += open;
    const bool can = job.running() && open && task.held_until.ns == 0 && task.unended.empty() &&
                     (spec.side_effects ? task.holding == 0 : task.live < task.wanted);
    const bool again = task.next_number > 1;
    const bool ready = can && task.partial_missing == 0;
    if (c.ready.retry.Contains(t) != (ready && task.live == 0 && again) ||
        c.ready.fresh.Contains(t) != (ready && task.live == 0 && !again) ||
        c.ready.clones.Contains(t) != (ready && task.live > 0) ||
        c.blocked.Contains(t) != (can && task.partial_missing > 0)) {
      return At({job.id, s, t}) + "it stands in the wrong pool";
    }
    if (!stage.by_input.empty() && stage.waiting_by_input.Contains(stage.input_place[t]) != c.ready.fresh.Contains(t)) {
      return At({job.id, s, t}) + "it stands wrong among those by input";
    }
    for (const Attempt& a : task.attempts) {
      const bool fetching = job.running() && a.live() && !a.inputs_done;
      const size_t partial = task.partial_missing > 0 ? 1 : 0;
      if ((c.fetching[partial].count({t, a.number}) != 0) != fetching ||
          c.fetching[1 - partial].count({t, a.number}) != 0) {
        return At({job.id, s, t}) + "fetching attempts are indexed wrong";
      }
    }
  }
  for (size_t i = 0; i < stage.classes.size(); ++i) {
    const TaskClass& c = stage.classes[i];
    if (c.uncommitted != uncommitted[i]) return Name(job.id) + ": a class counts wrong";
    for (const LocalLists* lists : {&c.ready.by_worker, &c.ready.by_rack}) {
      for (uint32_t l = 0; l < lists->places().size(); ++l) {
        const LocalLists::List list = lists->At(l);
        uint32_t pending = 0;
        for (uint32_t p = list.begin; p < list.end; ++p) {
          const bool in = c.ready.Contains(lists->task(p));
          if (in != lists->Pending(p)) return Name(job.id) + ": a local list is wrong";
          pending += in;
        }
        if (pending != lists->CountPending(list)) return Name(job.id) + ": a local list counts wrong";
      }
    }
  }
  return "";
}

std::string CheckStage(const State& state, const Job& job, uint32_t s) {
  const Stage& stage = job.stages[s];
  uint32_t committed = 0, pending = 0, cloned = 0, timed = 0;
  Duration ran;
  for (uint32_t t = 0; t < stage.tasks.size(); ++t) {
    const Task& task = stage.tasks[t];
    committed += task.state == TaskState::kCommitted;
    pending += task.state == TaskState::kPending;
    cloned += task.state != TaskState::kCommitted && task.wanted > 1;
    const Attempt* winner = task.state == TaskState::kCommitted ? Winner(task) : nullptr;
    timed += winner != nullptr;
    if (winner != nullptr) ran = ran + RunTime(*winner);
    if (std::string error = CheckTask(state, job, {job.id, s, t}, task); !error.empty()) return error;
  }
  const std::string at = Name(job.id) + " stage " + std::to_string(s) + ": ";
  if (committed != stage.committed || pending != stage.pending || cloned != stage.cloned)
    return at + "task counts are wrong";
  if (timed != stage.timed || ran != stage.ran) return at + "what its tasks computed is counted wrong";
  if (std::string error = CheckPools(job, s); !error.empty()) return error;
  bool ready = false, blocked = false;
  for (const TaskClass& c : stage.classes) {
    const bool full = state.FullReady(job, s, c);
    ready = ready || (c.ready.size() > 0 && full);
    blocked = blocked || (c.ready.size() > 0 && !full) || !c.blocked.empty();
  }
  const bool on = job.running() && stage.planned();
  if (stage.in_ready != (on && ready)) return at + "its readiness is wrong";
  if (stage.in_early != (on && blocked && state.EarlyDue(job, s))) {
    return at + "its early readiness is wrong";
  }
  if (stage.in_starved != (stage.in_ready && job.fetching > 0)) return at + "starved is wrong";
  if (stage.in_placed != (stage.in_ready && state.HasPlaces(stage))) return at + "it is wrongly counted as placed";
  const StageKey key{-int64_t{job.priority}, job.arrival, {job.id, s}};
  const SlotKind kind = job.graph.stages[s].slot_kind;
  if (stage.in_ready != (state.ready(kind).count(key) != 0) || stage.in_early != (state.early(kind).count(key) != 0) ||
      stage.in_starved != (state.starved().count(key) != 0) ||
      stage.in_placed != (state.placed(kind).count(key) != 0)) {
    return at + "the stage indexes are wrong";
  }
  return "";
}

std::string CheckBindings(const State& state, const Job& job) {
  for (const BoundRead& r : job.bindings.All()) {
    const TaskId reader{job.id, r.stage, r.task}, output{job.id, r.up_stage, r.up_task};
    const Attempt* a = state.FindAttempt({reader, r.number});
    if (a == nullptr || !a->live() || !a->by_bind) return At(reader) + "an attempt that is not live is bound";
    const Task* up = state.FindTask(output);
    if (up == nullptr) return At(reader) + "it reads an unknown output";
    const bool there = std::find(up->replicas.begin(), up->replicas.end(), r.replica) != up->replicas.end();
    if (!r.done && !there) return At(reader) + "it is bound to a replica that is gone";
  }
  for (const AskedReplica& asked : job.asked) {
    const TaskId output{job.id, asked.stage, asked.task};
    const Task* task = state.FindTask(output);
    if (!job.running() || task == nullptr) return At(output) + "a replica of it is asked for, and nobody wants it";
    if (task->generation != asked.generation) return At(output) + "a replica of an earlier output is asked for";
  }
  uint32_t by_bind = 0;
  for (const Stage& stage : job.stages) {
    for (const Task& task : stage.tasks) {
      for (const Attempt& a : task.attempts) by_bind += a.live() && a.by_bind;
    }
  }
  if (by_bind != job.by_bind) return Name(job.id) + ": bound readers are counted wrong";
  return job.bindings.Check();
}

std::string CheckQueues(const State& state) {
  std::map<std::string, Queue> queues;
  for (const auto& [name, q] : state.queues()) queues[name].number = q.number;
  for (const auto& [id, job] : state.jobs()) {
    if (!job.running() && job.holding == 0) {
      if (job.in_queue != nullptr) return Name(id) + ": it is done, and in a queue";
      continue;
    }
    if (queues.count(job.queue) == 0 || job.in_queue != &state.queues().at(job.queue)) {
      return Name(id) + ": its queue is not known";
    }
    Queue& q = queues.at(job.queue);
    ++q.jobs;
    std::array<bool, 2> ready{}, early{};
    for (uint32_t s = 0; s < job.stages.size(); ++s) {
      const size_t kind = KindIndex(job.graph.stages[s].slot_kind);
      ready[kind] = ready[kind] || job.stages[s].in_ready;
      early[kind] = early[kind] || job.stages[s].in_early;
      for (const auto& [task, number] : job.stages[s].active) {
        const AttemptId attempt{{id, s, task}, number};
        const Attempt* a = state.FindAttempt(attempt);
        ++q.held[kind];
        if (a->live()) q.live.Insert({a->launched_at, attempt});
      }
    }
    for (const size_t kind : {0, 1}) {
      const bool spare = state.sharing().spare_last && AtGuarantee(job);
      q.spare_ready[kind] += spare && ready[kind];
      q.spare_early[kind] += spare && early[kind];
      if (ready[kind] && !spare) q.ready[kind].Insert(state.RankOf(job, kind));
      if (early[kind] && !spare) q.early[kind].Insert(state.RankOf(job, kind));
    }
  }
  for (const auto& [name, q] : state.queues()) {
    const Queue& want = queues.at(name);
    const auto busy = state.busy_queues().find(q.number);
    const bool listed = busy != state.busy_queues().end() && busy->second == &q;
    if (q.jobs != want.jobs || listed != (q.jobs > 0)) return "queue '" + name + "': its jobs are counted wrong";
    if (q.jobs == 0 && !q.set) return "queue '" + name + "' has no jobs, and nobody has set it";
    if (q.held != want.held || q.ready != want.ready || q.early != want.early || q.live.All() != want.live.All() ||
        q.spare_ready != want.spare_ready || q.spare_early != want.spare_early) {
      return "queue '" + name + "' is indexed wrong";
    }
  }
  for (const auto& [number, q] : state.busy_queues()) {
    if (q->number != number || queues.count(q->name) == 0) return "a queue that is gone is listed";
  }
  uint64_t made = 0, lost = 0;
  for (const auto& [id, w] : state.workers()) {
    made += w.outputs_made;
    lost += w.outputs_lost;
  }
  return made == state.outputs_made() && lost == state.outputs_lost() ? "" : "outputs made and lost are counted wrong";
}

std::string CheckWorker(const State& state, const Worker& w) {
  const std::string at = "worker " + Name(w.id) + ": ";
  SlotUse used;
  for (const AttemptId& id : w.attempts) {
    const StageSpec& spec = state.Spec(id.task.stage_id());
    ++used.slots[KindIndex(spec.slot_kind)];
    used.memory += spec.memory_bytes;
  }
  if (used.slots != w.used.slots || used.memory != w.used.memory) return at + "slots are counted wrong";
  if (!w.alive && (!w.attempts.empty() || !w.replicas.empty())) return at + "it is dead and holds something";
  for (const SlotKind kind : {SlotKind::kMap, SlotKind::kReduce}) {
    const bool free = w.alive && !w.draining && w.held_until.ns == 0 && state.Room(w, w.used, kind, 0);
    if (free != (state.free(kind).count(w.id) != 0) || free != w.is_free[KindIndex(kind)])
      return at + "the free workers are wrong";
  }
  const RollEntry entry{w.id, w.alive && !w.draining, w.is_free};
  if (w.in_roll >= state.roll().size() || !(state.roll()[w.in_roll] == entry)) return at + "the roll is wrong";
  for (const auto& replica : w.replicas) {
    const TaskId& task = replica.task;
    const Task* t = state.FindTask(task);
    const bool known = t != nullptr && std::any_of(t->replicas.begin(), t->replicas.end(), [&](auto& c) {
                         return c.worker == w.id && c.attempt == replica.attempt;
                       });
    if (!known) return at + "it holds a replica that its task does not know";
  }
  return "";
}

}  // namespace

std::string CheckState(const State& state) {
  if (state.Digest() != state.RecomputeDigest()) return "the digest is not that of the state";
  if (std::string error = state.CheckStatistics(); !error.empty()) return error;
  if (std::string error = CheckSlots(state); !error.empty()) return error;
  if (std::string error = state.CheckLists(); !error.empty()) return error;
  if (std::string error = state.CheckRacks(); !error.empty()) return error;
  if (std::string error = state.CheckGuarantees(); !error.empty()) return error;
  if (std::string error = CheckQueues(state); !error.empty()) return error;
  const auto by_id = [](const RollEntry& a, const RollEntry& b) { return a.id < b.id; };
  if (state.roll().size() != state.workers().size()) return "the roll has not each worker once";
  if (!std::is_sorted(state.roll().begin(), state.roll().end(), by_id)) return "the roll is not in order";
  for (const auto& [id, w] : state.workers()) {
    if (std::string error = CheckWorker(state, w); !error.empty()) return error;
  }
  size_t ending = 0;
  for (const auto& [id, job] : state.jobs()) {
    uint32_t fetching = 0, holding = 0, taking_back = 0;
    for (uint32_t s = 0; s < job.stages.size(); ++s) {
      if (std::string error = CheckStage(state, job, s); !error.empty()) return error;
      holding += static_cast<uint32_t>(job.stages[s].active.size());
      for (const TaskClass& c : job.stages[s].classes) {
        fetching += static_cast<uint32_t>(c.fetching[0].size() + c.fetching[1].size());
      }
      for (uint32_t t = 0; t < job.stages[s].tasks.size(); ++t) {
        for (const Attempt& a : job.stages[s].tasks[t].attempts) {
          taking_back += a.holds_slot() && a.taken_back;
          const bool ends = a.holds_slot() && !a.live();
          ending += ends;
          if (ends != (state.ending().count({{id, s, t}, a.number}) != 0))
            return Name(id) + ": what ends is listed wrong";
        }
      }
    }
    if (holding != job.holding || fetching != job.fetching || taking_back != job.taking_back) {
      return Name(id) + ": its attempts are counted wrong";
    }
    if (std::string error = CheckBindings(state, job); !error.empty()) return error;
    bool done = job.running();
    for (uint32_t s = 0; s < job.stages.size(); ++s) {
      if (job.graph.stages[s].is_final && !job.stages[s].complete()) done = false;
    }
    if (done) return Name(id) + ": all of its output is committed, and it still runs";
  }
  if (ending != state.ending().size()) return "an attempt that no job knows is listed as ending";
  return "";
}

}  // namespace mr::sched
