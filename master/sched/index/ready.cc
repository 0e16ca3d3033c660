#include "master/sched/index/ready.h"

#include <algorithm>

#include "common/base/check.h"
#include "master/sched/job_profile.h"

namespace mr::sched {

bool ReadyIndex::Schedulable(const Job& job, const StageSpec& spec, const Task& task) {
  if (!job.running() || task.state == TaskState::kCommitted || task.held_until.ns != 0) return false;
  if (!task.unended.empty()) return false;
  return spec.side_effects ? task.holding == 0 : task.live < task.wanted;
}

void ReadyIndex::Index(const EntityChanged& change) {
  const auto& [job, id, task, in] = change;
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
    OrderByInput(stage, id.task, in && task.partial_missing == 0 && c.ready.fresh.Contains(id.task));
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

void ReadyIndex::CommitMoved(const TaskId& id) {
  Job& job = JobOf(id.job);
  const Stage& stage = job.stages[id.stage];
  const bool committed = stage.tasks[id.task].state == TaskState::kCommitted;
  for (const PartialReaders& p : stage.partial_readers) {
    for (uint32_t i = p.begin[id.task]; i < p.begin[id.task + 1]; ++i) {
      const TaskId reader{id.job, p.stage, p.readers[i]};
      Task& task = job.stages[p.stage].tasks[reader.task];
      const uint32_t missing = committed ? task.partial_missing - 1 : task.partial_missing + 1;
      const bool moves = (missing == 0) != (task.partial_missing == 0);
      if (moves) Index({job, reader, task, false});
      task.partial_missing = missing;
      if (moves) Index({job, reader, task, true});
    }
    Refresh(job, p.stage);
  }
}

bool ReadyIndex::FullReady(const Job& job, uint32_t stage, const TaskClass& c) {
  const auto& inputs = job.graph.stages[stage].inputs;
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    if ((c.full_inputs >> i & 1) != 0 && !job.stages[inputs[i].upstream].complete()) return false;
  }
  return true;
}

bool ReadyIndex::AnyFullReady(const Job& job, uint32_t stage) {
  const auto& classes = job.stages[stage].classes;
  return std::any_of(classes.begin(), classes.end(), [&](const TaskClass& c) { return FullReady(job, stage, c); });
}

bool ReadyIndex::InputsComplete(const Job& job, uint32_t stage, const Task& task) {
  return task.partial_missing == 0 && FullReady(job, stage, job.stages[stage].classes[task.task_class]);
}

bool ReadyIndex::Waiting(const AttemptId& id) const {
  const Attempt* a = FindAttempt(id);
  if (a == nullptr || !a->live() || a->inputs_done) return false;
  return !InputsComplete(*FindJob(id.task.job), id.task.stage, *FindTask(id.task));
}

uint32_t ReadyIndex::UpstreamUnfinished(const Job& job, uint32_t stage) {
  uint32_t n = 0;
  for (const StageInput& input : job.graph.stages[stage].inputs) {
    if (!input.is_edge) continue;
    const Stage& up = job.stages[input.upstream];
    n += static_cast<uint32_t>(up.tasks.size()) - up.committed;
  }
  return n;
}

uint32_t ReadyIndex::UpstreamPending(const Job& job, uint32_t stage) {
  uint32_t n = 0;
  for (const StageInput& input : job.graph.stages[stage].inputs) {
    if (input.is_edge) n += job.stages[input.upstream].pending;
  }
  return n;
}

bool ReadyIndex::Needed(const Job& job, const TaskId& id, bool waits) {
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

const char* ReadyIndex::Word(const AttemptId& id) const {
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

bool ReadyIndex::EarlyDue(const Job& job, uint32_t stage) const {
  if (UpstreamPending(job, stage) == 0) return true;
  if (sharing_.slow_start >= 1) return false;
  uint32_t all = 0;
  for (const StageInput& input : job.graph.stages[stage].inputs) {
    if (input.is_edge) all += static_cast<uint32_t>(job.stages[input.upstream].tasks.size());
  }
  return all - UpstreamUnfinished(job, stage) >= sharing_.slow_start * all;
}

bool ReadyIndex::HasPlaces(const Stage& stage) {
  return std::any_of(stage.classes.begin(), stage.classes.end(),
                     [](const TaskClass& c) { return !c.ready.by_worker.places().empty(); });
}

void ReadyIndex::RefreshAll(Job& job) {
  for (uint32_t s = 0; s < job.stages.size(); ++s) Refresh(job, s);
}

void ReadyIndex::Refresh(Job& job, uint32_t s) {
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
  const bool placed = ready && HasPlaces(stage);
  if (placed != stage.in_placed) {
    stage.in_placed = placed;
    placed ? (void)placed_[kind].insert(key) : (void)placed_[kind].erase(key);
  }
  set(ready && job.fetching > 0, &stage.in_starved, &starved_, nullptr);
}

void ReadyIndex::ListReaders(Job& job) {
  for (uint32_t s = 0; s < job.stages.size(); ++s) {
    for (const StageInput& input : job.graph.stages[s].inputs) {
      if (!input.is_edge || input.upstream >= s) continue;
      std::vector<uint32_t>& readers = job.stages[input.upstream].readers;
      if (readers.empty() || readers.back() != s) readers.push_back(s);
    }
  }
}

void ReadyIndex::BuildPartialReaders(Job& job, uint32_t s) {
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

void ReadyIndex::BuildClasses(Job& job, uint32_t s) const {
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

// Index(..., true) for all tasks of a stage whose lists have just been built. It goes list by list, since finding a
// million tasks in their lists one by one takes seconds.
void ReadyIndex::IndexStage(Job& job, uint32_t s) {
  Stage& stage = job.stages[s];
  bulk_ = true;
  for (uint32_t t = 0; t < stage.tasks.size(); ++t) Index({job, {job.id, s, t}, stage.tasks[t], true});
  bulk_ = false;
  FillLists(stage);
}

void ReadyIndex::RebuildLists() {
  for (auto& [id, job] : jobs_) {
    if (!job.running()) continue;
    for (uint32_t s = 0; s < job.stages.size(); ++s) {
      Stage& stage = job.stages[s];
      for (uint32_t t = 0; t < stage.tasks.size(); ++t) Index({job, {id, s, t}, stage.tasks[t], false});
      BuildLists(stage);
      IndexStage(job, s);
    }
  }
}

}  // namespace mr::sched
