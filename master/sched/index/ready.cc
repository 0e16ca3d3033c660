// The derived part of the state: which tasks can be launched, which attempts wait, which stages and workers are worth
// an offer. Index(..., false) takes a task out of every index by its current values. Index(..., true) puts it back by
// its new ones. A change in between is all that it takes.
#include <algorithm>

#include "common/base/check.h"
#include "master/sched/job_profile.h"
#include "master/sched/state/state.h"

namespace mr::sched {

bool State::Schedulable(const Job& job, const StageSpec& spec, const Task& task) const {
  if (!job.running() || task.state == TaskState::kCommitted || task.held_until.ns != 0) return false;
  if (!task.unended.empty()) return false;
  return spec.side_effects ? task.holding == 0 : task.live < task.wanted;
}

void State::Index(Job& job, const TaskId& id, Task& task, bool in) {
  Stage& stage = job.stages[id.stage];
  TaskClass& c = stage.classes[task.task_class];
  const StageSpec& spec = job.graph.stages[id.stage];
  const uint32_t step = in ? 1 : static_cast<uint32_t>(-1);
  if (task.state == TaskState::kCommitted) {
    stage.committed += step;
    if (task.replicas.empty() && !spec.is_final && in) stage.bare.insert(id.task);
    if (!in) stage.bare.erase(id.task);
    if (const Attempt* winner = Winner(task)) {
      stage.timed += step;
      stage.ran.ns += in ? RunTime(*winner).ns : -RunTime(*winner).ns;
    }
  } else {
    c.uncommitted += step;
    if (task.wanted > 1) stage.cloned += step;
    if (task.state == TaskState::kPending) stage.pending += step;
  }
  if (Schedulable(job, spec, task)) {
    if (task.partial_missing > 0) {
      if (in)
        c.blocked.Insert(id.task);
      else
        c.blocked.Erase(id.task);
    } else if (in) {
      PoolInsert(c.ready, id.task, task);
    } else {
      PoolErase(c.ready, id.task);
    }
    if (!stage.by_input.empty()) {
      const bool waits = in && task.partial_missing == 0 && c.ready.fresh.Contains(id.task);
      if (waits)
        stage.waiting_by_input.Insert(stage.input_place[id.task]);
      else
        stage.waiting_by_input.Erase(stage.input_place[id.task]);
    }
    if (in) ++work_count_;
  }
  if (!job.running()) return;
  for (const Attempt& a : task.attempts) {
    if (!a.live() || a.inputs_done) continue;
    auto& fetching = c.fetching[task.partial_missing > 0 ? 1 : 0];
    if (in)
      fetching.insert({id.task, a.number});
    else
      fetching.erase({id.task, a.number});
    job.fetching += step;
  }
}

void State::PoolInsert(Pool& pool, uint32_t index, const Task& task) {
  (task.live > 0 ? pool.clones : task.next_number > 1 ? pool.retry : pool.fresh).Insert(index);
  if (bulk_) return;
  pool.by_worker.Set(index, true);
  pool.by_rack.Set(index, true);
}

void State::PoolErase(Pool& pool, uint32_t index) {
  pool.retry.Erase(index);
  pool.fresh.Erase(index);
  pool.clones.Erase(index);
  pool.by_worker.Set(index, false);
  pool.by_rack.Set(index, false);
}

uint32_t State::RackNumber(const std::string& rack) {
  const auto [it, added] = rack_numbers_.try_emplace(rack, static_cast<uint32_t>(rack_numbers_.size()));
  if (added) {
    rack_names_.push_back(&it->first);
    racks_.emplace_back();
  }
  return it->second;
}

void State::CommitMoved(const TaskId& id) {
  Job& job = JobOf(id.job);
  const Stage& stage = job.stages[id.stage];
  const bool committed = stage.tasks[id.task].state == TaskState::kCommitted;
  for (const PartialReaders& p : stage.partial_readers) {
    for (uint32_t i = p.begin[id.task]; i < p.begin[id.task + 1]; ++i) {
      const TaskId reader{id.job, p.stage, p.readers[i]};
      Task& task = job.stages[p.stage].tasks[reader.task];
      const uint32_t missing = committed ? task.partial_missing - 1 : task.partial_missing + 1;
      const bool moves = (missing == 0) != (task.partial_missing == 0);
      if (moves) Index(job, reader, task, false);
      task.partial_missing = missing;
      if (moves) Index(job, reader, task, true);
    }
    Refresh(job, p.stage);
  }
}

bool State::FullReady(const Job& job, uint32_t stage, const TaskClass& c) const {
  const auto& inputs = job.graph.stages[stage].inputs;
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    if ((c.full_inputs >> i & 1) != 0 && !job.stages[inputs[i].upstream].complete()) return false;
  }
  return true;
}

bool State::AnyFullReady(const Job& job, uint32_t stage) const {
  const auto& classes = job.stages[stage].classes;
  return std::any_of(classes.begin(), classes.end(), [&](const TaskClass& c) { return FullReady(job, stage, c); });
}

bool State::InputsComplete(const Job& job, uint32_t stage, const Task& task) const {
  return task.partial_missing == 0 && FullReady(job, stage, job.stages[stage].classes[task.task_class]);
}

bool State::Waiting(const AttemptId& id) const {
  const Attempt* a = FindAttempt(id);
  if (a == nullptr || !a->live() || a->inputs_done) return false;
  return !InputsComplete(*FindJob(id.task.job), id.task.stage, *FindTask(id.task));
}

bool State::QueueFull(const Job& job, SlotKind kind) const {
  if (job.in_queue == nullptr) return false;
  const Queue& q = *job.in_queue;
  if (!sharing_.max_shares || q.max_share == 0) return false;
  if (!sharing_.by_kind) return q.held_total() >= q.max_share;
  return kind == SlotKind::kMap && q.held[KindIndex(kind)] >= q.max_share;
}

uint32_t State::UpstreamUnfinished(const Job& job, uint32_t stage) const {
  uint32_t n = 0;
  for (const StageInput& input : job.graph.stages[stage].inputs) {
    if (!input.is_edge) continue;
    const Stage& up = job.stages[input.upstream];
    n += static_cast<uint32_t>(up.tasks.size()) - up.committed;
  }
  return n;
}

uint32_t State::UpstreamPending(const Job& job, uint32_t stage) const {
  uint32_t n = 0;
  for (const StageInput& input : job.graph.stages[stage].inputs) {
    if (input.is_edge) n += job.stages[input.upstream].pending;
  }
  return n;
}

bool State::Needed(const Job& job, const TaskId& id, bool waits) const {
  const Stage& stage = job.stages[id.stage];
  for (const uint32_t r : stage.readers) {
    const Stage& reader = job.stages[r];
    if (!reader.planned()) return true;
    if (waits && reader.pending == 0) continue;
    const auto& inputs = job.graph.stages[r].inputs;
    for (const TaskClass& c : reader.classes) {
      if (c.uncommitted == 0) continue;
      for (uint32_t i = 0; i < inputs.size(); ++i) {
        if ((c.full_inputs >> i & 1) != 0 && inputs[i].upstream == id.stage) return true;
      }
    }
  }
  for (const PartialReaders& p : stage.partial_readers) {
    for (uint32_t i = p.begin[id.task]; i < p.begin[id.task + 1]; ++i) {
      const TaskState reader = job.stages[p.stage].tasks[p.readers[i]].state;
      if (waits ? reader == TaskState::kPending : reader != TaskState::kCommitted) return true;
    }
  }
  return false;
}

bool State::Room(const Worker& w, const SlotUse& used, SlotKind kind, uint64_t memory_bytes) const {
  const uint32_t cap = kind == SlotKind::kMap ? w.slots.map : w.slots.reduce;
  if (used.slots[0] + used.slots[1] >= w.slots.total) return false;
  if (cap != 0 && used.slots[KindIndex(kind)] >= cap) return false;
  return memory_bytes == 0 || w.memory_bytes == 0 || used.memory + memory_bytes <= w.memory_bytes;
}

uint32_t State::TimesFailedOn(const Task& task, const Worker& w) const {
  for (const FailedOn& f : task.failed_on) {
    if (f.worker == w.id && f.incarnation == w.incarnation) return f.times;
  }
  return 0;
}

bool State::MayEverRun(const StageSpec& spec, const Worker& w) const {
  return w.alive && !w.draining && Room(w, {}, spec.slot_kind, spec.memory_bytes);
}

bool State::AnotherRackHasRoom(const StageSpec& spec, const Task& task, const Worker& w) const {
  if (rack_names_.size() < 2) return false;
  const auto shared = [&](uint32_t rack) {
    return std::any_of(task.attempts.begin(), task.attempts.end(),
                       [&](const Attempt& a) { return a.live() && FindWorker(a.worker)->rack_number == rack; });
  };
  if (!shared(w.rack_number)) return false;
  size_t seen = 0;
  for (const WorkerId id : free(spec.slot_kind)) {
    const Worker& other = workers_.at(id);
    if (seen++ == kWorkersSeenForRacks) return false;
    if (other.rack_number == w.rack_number || TimesFailedOn(task, other) > 0 || shared(other.rack_number)) continue;
    if (Room(other, other.used, spec.slot_kind, spec.memory_bytes)) return true;
  }
  return false;
}

bool State::BelongsElsewhere(const StageSpec& spec, const Task& task, const Worker& w) const {
  // Clones are to be independent: a fault of a worker, or a rack, hits both attempts there.
  const bool clone = task.wanted > 1 && task.live > 0;
  if (clone && (LiveOn(task, w.id) || AnotherRackHasRoom(spec, task, w))) return true;
  const uint32_t here = TimesFailedOn(task, w);
  if (here == 0) return false;
  const auto better = [&](const Worker& other) {
    return TimesFailedOn(task, other) < here && !(clone && LiveOn(task, other.id));
  };
  for (const WorkerId id : free(spec.slot_kind)) {
    const Worker& other = workers_.at(id);
    if (better(other) && Room(other, other.used, spec.slot_kind, spec.memory_bytes)) return true;
  }
  if (task.failures < kFailuresAnywhere && task.environment_failures < kMaxEnvironmentFailures) return false;
  return std::any_of(workers_.begin(), workers_.end(),
                     [&](const auto& other) { return better(other.second) && MayEverRun(spec, other.second); });
}

const char* State::Word(const AttemptId& id) const {
  const Attempt* a = FindAttempt(id);
  MR_CHECK(a != nullptr, "no such attempt");
  switch (a->state) {
    case AttemptState::kLaunched: return "pending";
    case AttemptState::kRunning: return Waiting(id) ? "waiting" : "running";
    case AttemptState::kEnding: return "running";
    case AttemptState::kCommitted: return "committed";
    case AttemptState::kFailed: return "failed";
    case AttemptState::kDiscarded:
    case AttemptState::kKilled: return "killed";
  }
  return "?";
}

void State::RankJob(const Job& job, int direction) {
  if (job.in_queue == nullptr) return;
  Queue& queue = *job.in_queue;
  const bool spare = AtGuarantee(job);
  for (const size_t kind : {0, 1}) {
    const JobRank rank = RankOf(job, kind);
    const auto move = [&](bool in, Ranked<JobRank>* index, uint32_t* spares) {
      if (!in) return;
      if (spare)
        *spares += static_cast<uint32_t>(direction);
      else if (direction > 0)
        index->Insert(rank);
      else
        index->Erase(rank);
    };
    move(job.ready_stages[kind] > 0, &queue.ready[kind], &queue.spare_ready[kind]);
    move(job.early_stages[kind] > 0, &queue.early[kind], &queue.spare_early[kind]);
  }
}

JobRank State::RankOf(const Job& job, size_t kind) const {
  const uint32_t held = sharing_.by_kind ? job.held[kind] : job.holding;
  return {-int64_t{job.priority}, sharing_.by_held ? held : 0, job.arrival, job.id};
}

void State::SetSharing(const Sharing& sharing) {
  if (sharing == sharing_) return;
  for (const auto& [id, job] : jobs_) RankJob(job, -1);
  sharing_ = sharing;
  RecountRacks();
  for (const auto& [id, job] : jobs_) RankJob(job, +1);
  for (auto& [id, job] : jobs_) {
    RefreshAll(job);
    CountGuarantee(job);
  }
}

bool State::EarlyDue(const Job& job, uint32_t stage) const {
  if (UpstreamPending(job, stage) == 0) return true;
  if (sharing_.slow_start >= 1) return false;
  uint32_t all = 0;
  for (const StageInput& input : job.graph.stages[stage].inputs) {
    if (input.is_edge) all += static_cast<uint32_t>(job.stages[input.upstream].tasks.size());
  }
  return all - UpstreamUnfinished(job, stage) >= sharing_.slow_start * all;
}

void State::RefreshWorker(Worker& w) {
  outputs_made_ += w.outputs_made - w.counted_made;
  outputs_lost_ += w.outputs_lost - w.counted_lost;
  w.counted_made = w.outputs_made;
  w.counted_lost = w.outputs_lost;
  const SlotCount count = SlotsOf(w);
  slots_.total += count.total - w.counted.total;
  for (const size_t kind : {0, 1}) slots_.by_kind[kind] += count.by_kind[kind] - w.counted.by_kind[kind];
  w.counted = count;
  CountRack(w);
  const bool offered = w.alive && !w.draining && w.held_until.ns == 0;
  for (const SlotKind kind : {SlotKind::kMap, SlotKind::kReduce}) {
    const bool is = offered && Room(w, w.used, kind, 0);
    bool& was = w.is_free[KindIndex(kind)];
    if (is == was) continue;
    was = is;
    if (is)
      free_[KindIndex(kind)].insert(w.id);
    else
      free_[KindIndex(kind)].erase(w.id);
  }
  roll_[w.in_roll] = {w.id, w.alive && !w.draining, w.is_free};
}

void State::RefreshAll(Job& job) {
  for (uint32_t s = 0; s < job.stages.size(); ++s) Refresh(job, s);
}

void State::Refresh(Job& job, uint32_t s) {
  Stage& stage = job.stages[s];
  bool ready = false, early = false;
  if (job.running() && stage.planned()) {
    bool blocked = false;
    for (const TaskClass& c : stage.classes) {
      const bool full = c.ready.size() == 0 || FullReady(job, s, c);
      if (c.ready.size() > 0) (full ? ready : blocked) = true;
      if (!c.blocked.empty()) blocked = true;
    }
    early = blocked && EarlyDue(job, s);
  }
  const StageKey key{-int64_t{job.priority}, job.arrival, {job.id, s}};
  const size_t kind = KindIndex(job.graph.stages[s].slot_kind);
  const auto set = [&](bool on, bool* was, std::set<StageKey>* index, uint32_t* stages) {
    if (on == *was) return;
    *was = on;
    if (stages != nullptr) {
      RankJob(job, -1);
      on ? ++*stages : --*stages;
      RankJob(job, +1);
      CountGuarantee(job);
    }
    if (on)
      index->insert(key);
    else
      index->erase(key);
    if (on) ++work_count_;
  };
  set(ready, &stage.in_ready, &ready_[kind], &job.ready_stages[kind]);
  set(early, &stage.in_early, &early_[kind], &job.early_stages[kind]);
  set(ready && job.fetching > 0, &stage.in_starved, &starved_, nullptr);
}

void State::BuildPartialReaders(Job& job, uint32_t s) {
  const auto& inputs = job.graph.stages[s].inputs;
  Stage& stage = job.stages[s];
  std::set<uint32_t> upstreams;
  for (const StageInput& input : inputs) {
    if (input.is_edge) upstreams.insert(input.upstream);
  }
  for (const uint32_t u : upstreams) {
    Stage& up = job.stages[u];
    const uint32_t n = static_cast<uint32_t>(up.tasks.size());
    PartialReaders p;
    p.stage = s;
    p.begin.assign(n + 1, 0);
    const auto each = [&](auto&& visit) {
      for (uint32_t t = 0; t < stage.tasks.size(); ++t) {
        for (const Slice& slice : stage.tasks[t].plan.slices) {
          if (inputs[slice.input].upstream != u) continue;
          if (slice.task_begin == 0 && slice.task_end == n) continue;
          for (uint32_t i = slice.task_begin; i < slice.task_end; ++i) visit(t, i);
        }
      }
    };
    each([&](uint32_t t, uint32_t i) {
      ++p.begin[i + 1];
      if (up.tasks[i].state != TaskState::kCommitted) ++stage.tasks[t].partial_missing;
    });
    for (uint32_t i = 0; i < n; ++i) p.begin[i + 1] += p.begin[i];
    if (p.begin[n] == 0) continue;
    p.readers.resize(p.begin[n]);
    std::vector<uint32_t> next(p.begin.begin(), p.begin.end() - 1);
    each([&](uint32_t t, uint32_t i) { p.readers[next[i]++] = t; });
    up.partial_readers.push_back(std::move(p));
  }
}

void State::BuildClasses(Job& job, uint32_t s) {
  const auto& inputs = job.graph.stages[s].inputs;
  Stage& stage = job.stages[s];
  std::map<uint64_t, uint32_t> by_mask;
  for (Task& task : stage.tasks) {
    uint64_t mask = 0;
    for (const Slice& slice : task.plan.slices) {
      const size_t n = job.stages[inputs[slice.input].upstream].tasks.size();
      if (slice.task_begin == 0 && slice.task_end == n) mask |= uint64_t{1} << slice.input;
    }
    const auto [it, added] = by_mask.emplace(mask, static_cast<uint32_t>(stage.classes.size()));
    if (added) stage.classes.emplace_back().full_inputs = mask;
    task.task_class = it->second;
  }
  BuildLists(stage);
}

void State::BuildByInput(Stage& stage) {
  stage.by_input.clear();
  stage.input_place.clear();
  const auto bytes = [&](uint32_t t) { return stage.tasks[t].plan.input_bytes; };
  const uint32_t n = static_cast<uint32_t>(stage.tasks.size());
  uint32_t same = 1;
  while (same < n && bytes(same) == bytes(0)) ++same;
  if (same >= n) return;
  stage.waiting_by_input = IndexSet(n);
  stage.input_place.resize(n);
  for (uint32_t t = 0; t < n; ++t) stage.by_input.push_back(t);
  std::stable_sort(stage.by_input.begin(), stage.by_input.end(),
                   [&](uint32_t a, uint32_t b) { return bytes(a) > bytes(b); });
  for (uint32_t i = 0; i < n; ++i) stage.input_place[stage.by_input[i]] = i;
}

void State::BuildLists(Stage& stage) {
  const uint32_t n = static_cast<uint32_t>(stage.tasks.size());
  BuildByInput(stage);
  using Pairs = std::vector<std::pair<uint32_t, uint32_t>>;
  std::vector<Pairs> workers(stage.classes.size()), racks(stage.classes.size());
  for (uint32_t t = 0; t < n; ++t) {
    const Task& task = stage.tasks[t];
    for (const WorkerId w : task.plan.preferred) {
      workers[task.task_class].emplace_back(w.value, t);
      if (const Worker* worker = FindWorker(w)) racks[task.task_class].emplace_back(worker->rack_number, t);
    }
  }
  for (size_t i = 0; i < stage.classes.size(); ++i) {
    TaskClass& c = stage.classes[i];
    c.ready = Pool{IndexSet(n), IndexSet(n), IndexSet(n), {}, {}};
    c.ready.by_worker.Build(std::move(workers[i]), n);
    c.ready.by_rack.Build(std::move(racks[i]), n);
    c.blocked = IndexSet(n);
  }
}

// Index(..., true) for all tasks of a stage whose lists have just been built. It goes list by list, since finding a
// million tasks in their lists one by one takes seconds.
void State::IndexStage(Job& job, uint32_t s) {
  Stage& stage = job.stages[s];
  bulk_ = true;
  for (uint32_t t = 0; t < stage.tasks.size(); ++t) Index(job, {job.id, s, t}, stage.tasks[t], true);
  bulk_ = false;
  for (TaskClass& c : stage.classes) {
    for (LocalLists* lists : {&c.ready.by_worker, &c.ready.by_rack}) {
      for (uint32_t l = 0; l < lists->places().size(); ++l) {
        const LocalLists::List list = lists->At(l);
        for (uint32_t i = list.begin; i < list.end; ++i) {
          const uint32_t t = lists->task(i);
          if (c.ready.Contains(t)) lists->SetAt(l, i, true);
        }
      }
    }
  }
}

void State::RebuildLists() {
  for (auto& [id, job] : jobs_) {
    if (!job.running()) continue;
    for (uint32_t s = 0; s < job.stages.size(); ++s) {
      Stage& stage = job.stages[s];
      for (uint32_t t = 0; t < stage.tasks.size(); ++t) Index(job, {id, s, t}, stage.tasks[t], false);
      BuildLists(stage);
      IndexStage(job, s);
    }
  }
}

}  // namespace mr::sched
