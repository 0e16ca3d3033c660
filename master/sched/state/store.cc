#include "master/sched/state/store.h"

#include "common/base/check.h"

namespace mr::sched {

namespace {

std::array<std::string_view, 3> TextsOf(const FactName& key) { return {key.policy, key.scope, key.name}; }

}  // namespace

EntityStore::EntityStore() { digest_ = HashCounters(); }
EntityStore::~EntityStore() = default;

const Job* EntityStore::FindJob(JobId id) const {
  const Job*& recent = recent_jobs_[id.seq % kRecentJobs];
  if (recent != nullptr && recent->id == id) return recent;
  const auto it = jobs_.find(id);
  if (it == jobs_.end()) return nullptr;
  return recent = &it->second;
}

const Stage* EntityStore::FindStage(StageId id) const {
  const Job* job = FindJob(id.job);
  return job == nullptr || id.stage >= job->stages.size() ? nullptr : &job->stages[id.stage];
}

const Task* EntityStore::FindTask(TaskId id) const {
  const Stage* stage = FindStage(id.stage_id());
  return stage == nullptr || id.task >= stage->tasks.size() ? nullptr : &stage->tasks[id.task];
}

const Attempt* EntityStore::FindAttempt(const AttemptId& id) const {
  const Task* task = FindTask(id.task);
  if (task == nullptr) return nullptr;
  // Numbers ascend, and callers nearly always ask for the last one.
  for (auto it = task->attempts.rbegin(); it != task->attempts.rend(); ++it) {
    if (it->number == id.number) return &*it;
  }
  return nullptr;
}

const Worker* EntityStore::FindWorker(WorkerId id) const {
  if (id.value < worker_at_.size()) return worker_at_[id.value];
  const auto it = workers_.find(id);
  return it == workers_.end() ? nullptr : &it->second;
}

const FactValue* EntityStore::FindFact(const FactName& key) const { return facts_.Find(TextsOf(key), key.id); }

const Instant* EntityStore::FindTimer(std::string_view policy, uint64_t id) const { return timers_.Find({policy}, id); }

const StageSpec& EntityStore::Spec(StageId id) const {
  const Job* job = FindJob(id.job);
  MR_CHECK(job != nullptr, "no such job");
  return job->graph.stages[id.stage];
}

Job& EntityStore::JobOf(JobId id) {
  const Job* job = FindJob(id);
  MR_CHECK(job != nullptr, "no such job");
  return const_cast<Job&>(*job);
}

Worker& EntityStore::WorkerOf(WorkerId id) {
  const Worker* worker = FindWorker(id);
  MR_CHECK(worker != nullptr, "no such worker");
  return const_cast<Worker&>(*worker);
}

Stage& EntityStore::StageOf(const TaskId& id) {
  Job& job = JobOf(id.job);
  MR_CHECK(id.stage < job.stages.size(), "no such stage");
  return job.stages[id.stage];
}

Task& EntityStore::TaskOf(const TaskId& id) {
  Stage& stage = StageOf(id);
  MR_CHECK(id.task < stage.tasks.size(), "no such task");
  return stage.tasks[id.task];
}

Attempt& EntityStore::AttemptOf(const AttemptId& id) {
  const Attempt* attempt = FindAttempt(id);
  MR_CHECK(attempt != nullptr, "no such attempt");
  return const_cast<Attempt&>(*attempt);
}

// Ids count from 1. A table finds workers by id, except one whose id is far off.
Worker& EntityStore::AddWorker(WorkerId id) {
  constexpr uint32_t kGap = 100'000;
  Worker& w = workers_[id];
  if (id.value >= worker_at_.size() && id.value < worker_at_.size() + kGap) {
    const size_t before = worker_at_.size();
    worker_at_.resize(id.value + 1, nullptr);
    // A worker that was far off may fit into the table now.
    for (auto it = workers_.lower_bound({static_cast<uint32_t>(before)}); it != workers_.upper_bound(id); ++it) {
      worker_at_[it->first.value] = &it->second;
    }
  }
  if (id.value < worker_at_.size()) worker_at_[id.value] = &w;
  const auto place =
      std::lower_bound(roll_.begin(), roll_.end(), id, [](const RollEntry& e, WorkerId i) { return e.id < i; });
  if (place == roll_.end() || place->id != id) {
    w.in_roll = static_cast<uint32_t>(place - roll_.begin());
    roll_.insert(place, {id});
    for (size_t i = w.in_roll + 1; i < roll_.size(); ++i) ++workers_.at(roll_[i].id).in_roll;
  }
  return w;
}

bool EntityStore::Room(const Worker& w, const SlotUse& used, SlotKind kind, uint64_t memory_bytes) {
  const uint32_t cap = kind == SlotKind::kMap ? w.slots.map : w.slots.reduce;
  if (used.slots[0] + used.slots[1] >= w.slots.total) return false;
  if (cap != 0 && used.slots[KindIndex(kind)] >= cap) return false;
  return memory_bytes == 0 || w.memory_bytes == 0 || used.memory + memory_bytes <= w.memory_bytes;
}

uint32_t EntityStore::TimesFailedOn(const Task& task, const Worker& w) {
  for (const FailedOn& f : task.failed_on) {
    if (f.worker == w.id && f.incarnation == w.incarnation) return f.times;
  }
  return 0;
}

SlotCount EntityStore::SlotsOf(const Worker& w) {
  if (!w.alive || w.draining) return {};
  const auto of = [&](uint32_t cap) { return cap == 0 ? w.slots.total : std::min(cap, w.slots.total); };
  return {w.slots.total, {of(w.slots.map), of(w.slots.reduce)}};
}

void EntityStore::SetFact(const FactKey& key, FactValue value) {
  const uint64_t hash = HashButValue(key);
  if (const FactValue* was = FindFact(key)) {
    digest_ -= WithValue(hash, *was);
    CountReal(*was);
    facts_.Update(was, value);
  } else {
    facts_.Insert(TextsOf(key), key.id, key, value);
  }
  digest_ += WithValue(hash, value);
  CountReal(value);
}

void EntityStore::EraseFact(const FactKey& key) {
  const FactValue* was = FindFact(key);
  if (was == nullptr) return;
  digest_ -= WithValue(HashButValue(key), *was);
  CountReal(*was);
  facts_.Erase(TextsOf(key), key.id);
}

void EntityStore::SetTimer(const std::string& policy, uint64_t id, Instant at) {
  if (const Instant* was = FindTimer(policy, id)) {
    digest_ -= HashTimer(policy, id, *was);
    timers_.Update(was, at);
  } else {
    timers_.Insert({policy}, id, {policy, id}, at);
  }
  digest_ += HashTimer(policy, id, at);
}

void EntityStore::EraseTimer(const std::string& policy, uint64_t id) {
  const Instant* was = FindTimer(policy, id);
  if (was == nullptr) return;
  digest_ -= HashTimer(policy, id, *was);
  timers_.Erase({policy}, id);
}

void EntityStore::CountOffer(WorkerId launched_on) {
  digest_ -= HashCounters();
  ++offers_;
  if (launched_on.valid()) offer_cursor_ = launched_on;
  digest_ += HashCounters();
}

}  // namespace mr::sched
