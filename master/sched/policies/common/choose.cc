#include "master/sched/policies/common/choose.h"

#include <algorithm>

#include "master/sched/policies/common/lent_slots.h"

namespace mr::sched {

namespace {

Reason Because(ReasonCode code, double number) { return {code, "", {number}}; }

// Returns the first of these tasks that need not wait for another worker. clone: only tasks with a live attempt, else
// only tasks without one.
uint32_t FirstFor(const State& state, const StageId& id, WorkerId worker, const IndexSet& set, bool clone) {
  if (set.empty()) return IndexSet::kNone;
  const Worker& w = *state.FindWorker(worker);
  const StageSpec& spec = state.Spec(id);
  const Stage& stage = *state.FindStage(id);
  for (uint32_t t = set.First(); t != IndexSet::kNone; t = set.Next(t + 1)) {
    if ((stage.tasks[t].live > 0) == clone && !state.BelongsElsewhere(spec, stage.tasks[t], w)) return t;
  }
  return IndexSet::kNone;
}

uint32_t FirstLocal(const State& state, const StageId& id, WorkerId worker, const LocalLists& lists,
                    const LocalLists::List& list, bool clone) {
  const Worker& w = *state.FindWorker(worker);
  const StageSpec& spec = state.Spec(id);
  const Stage& stage = *state.FindStage(id);
  uint32_t i = lists.NextPending(list, list.begin);
  for (; i != IndexSet::kNone; i = lists.NextPending(list, i + 1)) {
    const Task& task = stage.tasks[lists.task(i)];
    if ((task.live > 0) == clone && !state.BelongsElsewhere(spec, task, w)) return lists.task(i);
  }
  return IndexSet::kNone;
}

Reason WhyAgain(const Task& task) {
  if (task.lost) return Because(ReasonCode::kOutputLost, task.generation);
  return Because(ReasonCode::kRetryAfterFailure, task.failures + task.other_failures);
}

bool AnyReady(const State& state, const Job& job, uint32_t stage, const TaskClass& c, bool clone) {
  return (clone ? c.ready.clones.size() : c.ready.pending()) > 0 && state.FullReady(job, stage, c);
}

std::optional<Choice> LocalOf(const State& state, const StageId& id, const SlotOffer& offer, bool clone) {
  const Job& job = *state.FindJob(id.job);
  for (const TaskClass& c : job.stages[id.stage].classes) {
    const LocalLists& lists = c.ready.by_worker;
    const LocalLists::List list = lists.Find(offer.worker.value);
    if (lists.CountPending(list) == 0 || !AnyReady(state, job, id.stage, c, clone)) continue;
    const uint32_t task = FirstLocal(state, id, offer.worker, lists, list, clone);
    if (task == IndexSet::kNone) continue;
    const Task& t = job.stages[id.stage].tasks[task];
    if (c.ready.retry.Contains(task)) return Choice{task, WhyAgain(t)};
    return Choice{task, Because(ReasonCode::kLocalInput, lists.CountPending(list))};
  }
  return std::nullopt;
}

std::optional<Choice> ReadyOf(const State& state, const StageId& id, const SlotOffer& offer, bool clone) {
  const Job& job = *state.FindJob(id.job);
  const Stage& stage = job.stages[id.stage];
  const Worker& worker = *state.FindWorker(offer.worker);
  for (const TaskClass& c : stage.classes) {
    if (clone || !AnyReady(state, job, id.stage, c, clone)) continue;
    const uint32_t again = FirstFor(state, id, offer.worker, c.ready.retry, clone);
    if (again != IndexSet::kNone) return Choice{again, WhyAgain(stage.tasks[again])};
  }
  if (auto local = LocalOf(state, id, offer, clone)) return local;
  for (const TaskClass& c : stage.classes) {
    const LocalLists& lists = c.ready.by_rack;
    const LocalLists::List list = lists.Find(worker.rack_number);
    if (lists.CountPending(list) == 0 || !AnyReady(state, job, id.stage, c, clone)) continue;
    const uint32_t task = FirstLocal(state, id, offer.worker, lists, list, clone);
    if (task != IndexSet::kNone) {
      return Choice{task, Because(ReasonCode::kRackInput, lists.CountPending(list))};
    }
  }
  for (const TaskClass& c : stage.classes) {
    if (!AnyReady(state, job, id.stage, c, clone)) continue;
    const uint32_t task = FirstFor(state, id, offer.worker, clone ? c.ready.clones : c.ready.fresh, clone);
    if (task == IndexSet::kNone) continue;
    return Choice{task, Because(ReasonCode::kAnyWorker, worker.slots.total - worker.used_total())};
  }
  return std::nullopt;
}

std::optional<Choice> EarlyOf(const State& state, const StageId& id, const SlotOffer& offer, bool clone) {
  const Job& job = *state.FindJob(id.job);
  const auto first = [&](const IndexSet& set) { return FirstFor(state, id, offer.worker, set, clone); };
  const uint32_t unfinished = state.UpstreamUnfinished(job, id.stage);
  for (const TaskClass& c : job.stages[id.stage].classes) {
    uint32_t task = IndexSet::kNone;
    if (!state.FullReady(job, id.stage, c)) {
      task = first(clone ? c.ready.clones : c.ready.retry);
      if (task == IndexSet::kNone && !clone) task = first(c.ready.fresh);
    }
    if (task == IndexSet::kNone) task = first(c.blocked);
    if (task == IndexSet::kNone) continue;
    return Choice{task, Because(ReasonCode::kWaitingEarly, unfinished)};
  }
  return std::nullopt;
}

// Returns whether an attempt of `early` here would take the room of a task of this job that has its inputs.
bool WouldTakeRoom(const State& state, const Job& job, const StageSpec& early, const Worker& w) {
  SlotUse after = w.used;
  ++after.slots[KindIndex(early.slot_kind)];
  after.memory += early.memory_bytes;
  for (uint32_t s = 0; s < job.stages.size(); ++s) {
    if (!job.stages[s].in_ready) continue;
    const StageSpec& spec = job.graph.stages[s];
    if (state.Room(w, w.used, spec.slot_kind, spec.memory_bytes) &&
        !state.Room(w, after, spec.slot_kind, spec.memory_bytes)) {
      return true;
    }
  }
  return false;
}

// Workers that keep room for one speculative attempt, if policies of the job speculate. Waiting attempts on all slots
// would keep speculative ones out for as long as the slow attempt runs. A tenth, as LATE's cap; two, since the slow
// attempt may run on one of them.
constexpr size_t kWorkersForSpeculation = 2;
constexpr size_t kShareForSpeculation = 10;

// Returns whether an attempt of this stage here would leave too little room for speculation on its upstream stages.
bool WouldKeepSpeculationOut(const State& state, const Job& job, const StageId& early, const Worker& w) {
  if (job.list == nullptr || !job.list->statistics.speculation) return false;
  const StageSpec& spec = state.Spec(early);
  SlotUse after = w.used;
  ++after.slots[KindIndex(spec.slot_kind)];
  after.memory += spec.memory_bytes;
  const size_t kept = KeptForSpeculation(state);
  for (const StageInput& input : spec.inputs) {
    if (!input.is_edge || job.stages[input.upstream].complete()) continue;
    const StageSpec& up = job.graph.stages[input.upstream];
    // A lent slot counts as free: a further attempt runs on it already, or it comes back.
    if (FreeOrLent(state, up.slot_kind, kept + 1) <= kept && state.Room(w, w.used, up.slot_kind, up.memory_bytes) &&
        !state.Room(w, after, up.slot_kind, up.memory_bytes)) {
      return true;
    }
  }
  return false;
}

}  // namespace

size_t KeptForSpeculation(const State& state) {
  return std::max(kWorkersForSpeculation, state.workers().size() / kShareForSpeculation);
}

bool KeepsRoom(const State& state, const StageId& early, const Worker& w) {
  const Job& job = *state.FindJob(early.job);
  return WouldTakeRoom(state, job, job.graph.stages[early.stage], w) || WouldKeepSpeculationOut(state, job, early, w);
}

std::optional<Choice> ChooseLocal(const State& state, const StageId& id, const SlotOffer& offer) {
  if (auto first = LocalOf(state, id, offer, false)) return first;
  // A task without an attempt needs the slot more than a clone, even if its input is local nowhere.
  const Job& job = *state.FindJob(id.job);
  for (const TaskClass& c : job.stages[id.stage].classes) {
    if (AnyReady(state, job, id.stage, c, false)) return std::nullopt;
  }
  return LocalOf(state, id, offer, true);
}

std::optional<Choice> ChooseReady(const State& state, const StageId& id, const SlotOffer& offer) {
  if (auto first = ReadyOf(state, id, offer, false)) return first;
  return ReadyOf(state, id, offer, true);
}

std::optional<Choice> ChooseEarly(const State& state, const StageId& id, const SlotOffer& offer) {
  if (KeepsRoom(state, id, *state.FindWorker(offer.worker))) return std::nullopt;
  if (auto first = EarlyOf(state, id, offer, false)) return first;
  return EarlyOf(state, id, offer, true);
}

}  // namespace mr::sched
