#include "master/sched/state/state.h"

#include <algorithm>

#include "common/base/check.h"
#include "common/base/fields.h"

namespace mr::sched {

namespace {

constexpr size_t kSamplesKept = 8;  // reports of a live attempt

// Returns a hash of the whole plan, without copying it.
uint64_t HashPlan(const StagePlanned& plan) {
  uint64_t h = plan.partitions;
  for (const TaskPlan& t : plan.tasks) {
    h = MixHash(h, t.input_bytes);
    for (const WorkerId w : t.preferred) h = MixHash(h, w.value);
    for (const Slice& s : t.slices) {
      h = MixHash(h, s.input);
      h = MixHash(h, uint64_t{s.partition_begin} << 32 | s.partition_end);
      h = MixHash(h, uint64_t{s.task_begin} << 32 | s.task_end);
    }
  }
  return h;
}

}  // namespace

void State::SetConfig(const ConfigChanged& e, Instant now) {
  if (config_.known) digest_ -= Hash(config_);
  const uint32_t restarts = config_.known ? config_.restarts + 1 : 0;
  std::vector<ListInForce> lists = std::move(config_.lists);
  if (lists.empty() || lists.back().policies != e.policies) lists.push_back({now, e.policies});
  if (lists.size() > kListsKept) lists.erase(lists.begin());
  config_ = {true,           e.policies, e.seed,           e.scheduler_version,
             e.offer_period, restarts,   std::move(lists), config_.lost_wait};
  digest_ += Hash(config_);
}

void State::SetLease(Duration wait) {
  if (config_.known) digest_ -= Hash(config_);
  config_.lost_wait = wait;
  if (config_.known) digest_ += Hash(config_);
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

void State::PutWorker(const WorkerRegistered& e) {
  const bool known = FindWorker(e.worker) != nullptr;
  Worker& w = AddWorker(e.worker);
  if (known) digest_ -= Hash(w);
  const bool moved = known && w.rack != e.rack;
  w.id = e.worker;
  w.incarnation = e.incarnation;
  w.alive = true;
  w.draining = e.draining;
  w.refused_in_row = 0;
  w.address = e.address;
  w.rack = e.rack;
  w.rack_number = RackNumber(e.rack);
  w.slots = e.slots;
  w.memory_bytes = e.memory_bytes;
  w.labels = e.labels;
  WorkerRegistered fixed = e;
  fixed.inventory.clear();
  fixed.running.clear();
  w.fixed_hash = HashFields(fixed);
  digest_ += Hash(w);
  ReleaseWorker(e.worker);
  RefreshWorker(w);
  if (moved) {
    RebuildLists();
    RecountRacks();
  }
}

void State::HoldWorker(WorkerId id, Instant until) {
  ReleaseWorker(id);
  held_workers_.insert({until, id});
  EditWorker(id, [&](Worker& w) { w.held_until = until; });
}

void State::ReleaseWorker(WorkerId id) {
  const Instant until = WorkerOf(id).held_until;
  if (until.ns == 0) return;
  held_workers_.erase({until, id});
  EditWorker(id, [](Worker& w) { w.held_until = {}; });
}

void State::AddJob(const JobSubmitted& e, Instant now) {
  digest_ -= HashCounters();
  ++arrivals_;
  digest_ += HashCounters();
  Job& job = jobs_[e.job];
  job.id = e.job;
  job.name = e.name;
  job.queue = e.queue;
  JoinQueue(job);
  TakeWishes(e, &job);
  job.max_attempts = e.max_attempts;
  job.policies = e.policies;
  JoinList(job);
  job.graph = e.graph;
  job.arrival = arrivals_;
  job.restarts_at_submit = config_.restarts;
  job.submitted_at = now;
  job.submit_hash = HashFields(e);
  job.stages.resize(e.graph.stages.size());
  ListReaders(job);
  digest_ += Hash(job);
  for (uint32_t s = 0; s < job.stages.size(); ++s) digest_ += Hash({e.job, s}, job.stages[s]);
}

void State::AskPlan(StageId id) {
  Stage& stage = JobOf(id.job).stages[id.stage];
  digest_ -= Hash(id, stage);
  stage.plan_state = PlanState::kAsked;
  digest_ += Hash(id, stage);
}

void State::MarkStageIndeterminate(StageId id) {
  Stage& stage = JobOf(id.job).stages[id.stage];
  digest_ -= Hash(id, stage);
  stage.indeterminate = true;
  digest_ += Hash(id, stage);
}

void State::SetPlan(const StagePlanned& e, Instant now) {
  const StageId id{e.job, e.stage};
  Job& job = JobOf(e.job);
  MR_CHECK(e.stage < job.stages.size() && e.error.empty(), "a plan that CheckPlan took");
  Stage& stage = job.stages[e.stage];
  digest_ -= Hash(id, stage);
  stage.plan_state = PlanState::kPlanned;
  stage.partitions = e.partitions;
  stage.plan_hash = HashPlan(e);
  stage.tasks.resize(e.tasks.size());
  stage.contents.resize(e.tasks.size());
  for (uint32_t t = 0; t < e.tasks.size(); ++t) {
    stage.tasks[t].plan = e.tasks[t];
    stage.tasks[t].pending_since = now;
  }
  digest_ += Hash(id, stage);
  BuildPartialReaders(job, e.stage);
  BuildClasses(job, e.stage);
  for (uint32_t t = 0; t < stage.tasks.size(); ++t) {
    digest_ += Hash({e.job, e.stage, t}, stage.tasks[t]);
  }
  IndexStage(job, e.stage);
  RefreshAll(job);
}

void State::NoteContent(Stage& stage, uint32_t t) {
  const Task& task = stage.tasks[t];
  stage.contents[t] = {task.manifest.content, task.has_content ? task.generation : 0};
}

void State::Notify(const EntityChanged& change) {
  Index(change);
  CountRacks(change.job.stages[change.id.stage], change.task, change.in ? +1 : -1);
  if (change.in) RerateTask(change.id);
}

Task& State::BeginTask(const TaskId& id) {
  Job& job = JobOf(id.job);
  const Stage& stage = job.stages[id.stage];
  Task& task = job.stages[id.stage].tasks[id.task];
  before_ = {task.state == TaskState::kCommitted, stage.pending == 0, stage.complete(), job.fetching > 0};
  Notify({job, id, task, false});
  digest_ -= Hash(id, task);
  return task;
}

void State::FinishTask(const TaskId& id, Task& task) {
  Job& job = JobOf(id.job);
  const Stage& stage = job.stages[id.stage];
  digest_ += Hash(id, task);
  ++job.stages[id.stage].edits;
  NoteMoved(job, id.stage);
  NoteContent(job.stages[id.stage], id.task);
  Notify({job, id, task, true});
  const Before was = before_;
  if (was.committed != (task.state == TaskState::kCommitted)) CommitMoved(id);
  if (was.fetching != (job.fetching > 0)) {
    RefreshAll(job);
  } else {
    Refresh(job, id.stage);
    const bool share_moved = sharing_.slow_start < 1 && was.committed != (task.state == TaskState::kCommitted);
    if (share_moved || was.none_pending != (stage.pending == 0) || was.complete != stage.complete()) {
      for (const uint32_t reader : stage.readers) Refresh(job, reader);
    }
  }
}

void State::HoldTask(const TaskId& id, Instant until) {
  ReleaseTask(id);
  held_tasks_.insert({until, id});
  EditTask(id, [&](Task& t) { t.held_until = until; });
}

void State::ReleaseTask(const TaskId& id) {
  const Instant until = TaskOf(id).held_until;
  if (until.ns == 0) return;
  held_tasks_.erase({until, id});
  EditTask(id, [](Task& t) { t.held_until = {}; });
}

void State::SetUnended(const TaskId& id, std::vector<Unended> unended) {
  if (unended.empty())
    unended_.erase(id);
  else
    unended_.insert(id);
  EditTask(id, [&](Task& t) { t.unended = std::move(unended); });
}

uint32_t State::AddAttempt(const TaskId& id, WorkerId worker, Cause cause, Instant now, bool by_bind) {
  Job& job = JobOf(id.job);
  uint32_t number = 0;
  EditTask(id, [&](Task& t) {
    number = std::max(t.next_number, 1000 * (config_.restarts - job.restarts_at_submit) + 1);
    t.next_number = number + 1;
    Attempt a;
    a.number = number;
    a.generation = t.generation;
    a.worker = worker;
    a.incarnation = WorkerOf(worker).incarnation;
    a.cause = cause;
    a.by_bind = by_bind;
    a.launched_at = now;
    a.inputs_done = true;  // without edges there is nothing to wait for
    for (const StageInput& input : job.graph.stages[id.stage].inputs) {
      if (input.is_edge) a.inputs_done = false;
    }
    t.attempts.push_back(a);
    ++t.live;
    ++t.holding;
    if (t.state != TaskState::kCommitted) t.state = TaskState::kRunning;
    digest_ += Hash(id, t.attempts.back());
    TakeSlot({id, number}, t.attempts.back(), +1);
    ++job.causes[CauseIndex(cause)].launched;
    job.by_bind += by_bind;
  });
  return number;
}

template <class F>
void State::LeaveAttempt(Task& task, const AttemptId& id, AttemptState state, Instant now, F&& also) {
  Attempt& a = AttemptOf(id);
  digest_ -= Hash(id.task, a);
  MR_CHECK(a.holds_slot(), "an attempt ends once");
  const bool was_live = a.live();
  a.state = state;
  also(a);
  if (was_live && !a.live()) {
    --task.live;
    JobOf(id.task.job).in_queue->live.Erase({a.launched_at, id});
    if (a.holds_slot()) ending_.insert(id);
    if (a.by_bind) {
      DropReads(id);
      --JobOf(id.task.job).by_bind;
    }
  }
  if (!a.holds_slot()) {
    --task.holding;
    a.ended_at = now;
    if (a.samples.size() > 1) a.samples = {a.samples.back()};
  }
  digest_ += Hash(id.task, a);  // FinishTask rates it
  if (a.holds_slot()) return;
  TakeSlot(id, a, -1);
  CountEnd(a, &JobOf(id.task.job).causes[CauseIndex(a.cause)]);
}

void State::MoveAttempt(const AttemptId& id, AttemptState state, Instant now) {
  EditTask(id.task, [&](Task& t) {
    LeaveAttempt(t, id, state, now, [](Attempt&) {});
    if (t.state == TaskState::kCommitted) return;
    if (t.live == 0 && t.state == TaskState::kRunning) t.pending_since = now;
    t.state = t.live > 0 ? TaskState::kRunning : TaskState::kPending;
  });
}

void State::Commit(const AttemptId& id, const Manifest& manifest, Instant now, Duration ran, Duration waited) {
  EditTask(id.task, [&](Task& t) {
    MR_CHECK(t.state != TaskState::kCommitted, "a task commits once per generation");
    LeaveAttempt(t, id, AttemptState::kCommitted, now, [&](Attempt& a) {
      a.ran = ran;
      a.waited = waited;
    });
    t.state = TaskState::kCommitted;
    t.winner = id.number;
    t.manifest = manifest;
    t.has_content = true;
    t.lost = false;
    t.wanted = 1;
    t.environment_failures = 0;
    t.failed_on.clear();
  });
}

void State::KeepOutput(const TaskId& id, const KeptOutput& output) {
  EditTask(id, [&](Task& t) {
    MR_CHECK(t.attempts.empty(), "only a task without attempts takes over an output");
    t.state = TaskState::kCommitted;
    t.generation = output.generation;
    t.winner = output.attempt;
    t.next_number = output.attempt + 1;
    t.manifest = output.manifest;
    t.has_content = true;
  });
}

void State::TakeSlot(const AttemptId& id, Attempt& attempt, int direction) {
  const StageSpec& spec = Spec(id.task.stage_id());
  Job& job = JobOf(id.task.job);
  Stage& stage = job.stages[id.task.stage];
  Worker& w = WorkerOf(attempt.worker);
  const uint32_t step = static_cast<uint32_t>(direction);
  w.used.slots[KindIndex(spec.slot_kind)] += step;
  w.used.memory += static_cast<uint64_t>(static_cast<int64_t>(direction)) * spec.memory_bytes;
  Queue& queue = *job.in_queue;
  const bool ranked = sharing_.by_held || job.share > 0;
  if (ranked) RankJob(job, -1);
  job.holding += step;
  if (attempt.cause == Cause::kSpeculative) speculative_[KindIndex(spec.slot_kind)] += step;
  if (attempt.cause == Cause::kOpportunistic) direction > 0 ? (void)lent_.insert(id) : (void)lent_.erase(id);
  job.held[KindIndex(spec.slot_kind)] += step;
  if (ranked) RankJob(job, +1);
  CountGuarantee(job);
  queue.held[KindIndex(spec.slot_kind)] += step;
  if (direction > 0) {
    if (attempt.live())
      queue.live.Insert({attempt.launched_at, id});
    else
      ending_.insert(id);
    w.attempts.insert(id);
    stage.active.Insert({id.task.task, id.number});
  } else {
    if (attempt.taken_back) --job.taking_back;
    ending_.erase(id);
    w.attempts.erase(id);
    stage.active.Erase({id.task.task, id.number});
    if (job.holding == 0 && !job.running()) LeaveQueue(job);
  }
  RefreshWorker(w);
}

void State::MarkTakenBack(const AttemptId& id) {
  EditAttempt(id, [](Attempt& a) { a.taken_back = true; });
  ++JobOf(id.task.job).taking_back;
}

void State::AddSample(const AttemptId& id, const Sample& sample, bool inputs_done) {
  // Most reports change only the history: the rest of the digest is then hashed once.
  const auto stamp = [&](Attempt& a) {
    const bool first_byte = a.first_byte_at.ns == 0 && sample.taken_bytes > 0;
    const bool inputs = inputs_done && (a.inputs_done_at.ns == 0 || !a.inputs_done);
    const bool sorts = sample.phase >= 2 && a.sort_at.ns == 0, reduces = sample.phase >= 3 && a.reduce_at.ns == 0;
    if (first_byte) a.first_byte_at = sample.at;
    if (inputs_done && a.inputs_done_at.ns == 0) a.inputs_done_at = sample.at;
    a.inputs_done = a.inputs_done || inputs_done;
    if (sorts) a.sort_at = sample.at;
    if (reduces) a.reduce_at = sample.at;
    return first_byte || inputs || sorts || reduces;
  };
  const auto add = [&](Attempt& a) {
    a.history = MixHash(MixHash(a.history, static_cast<uint64_t>(sample.at.ns)), sample.phase);
    a.history = MixHash(MixHash(a.history, sample.taken_bytes), sample.total_bytes);
    a.history = MixHash(a.history, sample.records);
    if (a.samples.size() == kSamplesKept) a.samples.erase(a.samples.begin());
    a.samples.push_back(sample);
  };
  Attempt& attempt = AttemptOf(id);
  if (inputs_done && !attempt.inputs_done) {
    EditTask(id.task, [&](Task&) {
      EditAttempt(id, [&](Attempt& a) {
        stamp(a);
        add(a);
      });
    });
    return;
  }
  uint64_t still = HashButHistory(id.task, attempt);
  digest_ -= MixHash(still, attempt.history);
  if (stamp(attempt)) still = HashButHistory(id.task, attempt);
  add(attempt);
  digest_ += MixHash(still, attempt.history);
  RerateReported(id, attempt);
}

}  // namespace mr::sched
