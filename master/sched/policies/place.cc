#include "master/sched/policies/place.h"

#include <algorithm>

#include "master/sched/policies/lent_slots.h"

namespace mr::sched {

namespace {

Reason Because(ReasonCode code, double number) { return {code, "", {number}}; }

// The first of these tasks that need not wait for another worker; of those that run (a clone), or of those that do not.
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

// Whether an attempt of `early` here would take the room of a task of this job that has its inputs.
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

// Where its job's slow attempts get copies, so many of the workers keep room for one: waiting attempts on
// all slots would keep each copy out for as long as the slow one runs. A tenth, as LATE's cap; two, since
// one of them may be where the slow attempt is.
constexpr size_t kWorkersForCopies = 2;
constexpr size_t kShareForCopies = 10;

// Whether an attempt of this stage here would leave too little room for copies of what it waits for.
bool WouldKeepCopiesOut(const State& state, const Job& job, const StageId& early, const Worker& w) {
  if (job.list == nullptr || !job.list->statistics.copies) return false;
  const StageSpec& spec = state.Spec(early);
  SlotUse after = w.used;
  ++after.slots[KindIndex(spec.slot_kind)];
  after.memory += spec.memory_bytes;
  const size_t kept = KeptForCopies(state);
  for (const StageInput& input : spec.inputs) {
    if (!input.is_edge || job.stages[input.upstream].complete()) continue;
    const StageSpec& up = job.graph.stages[input.upstream];
    // A lent slot is as good as a free one: a copy runs on it, or it comes back.
    if (FreeOrLent(state, up.slot_kind, kept + 1) <= kept && state.Room(w, w.used, up.slot_kind, up.memory_bytes) &&
        !state.Room(w, after, up.slot_kind, up.memory_bytes)) {
      return true;
    }
  }
  return false;
}

Cause CauseOf(const Task& task) {
  if (task.live > 0) return Cause::kClone;
  return task.next_number > 1 ? Cause::kRetry : Cause::kFirst;
}

// Of workers that are told apart by Walks. A guess: slots of one kind of machine, some of them in use.
constexpr size_t kRoomsKept = 16;

}  // namespace

size_t KeptForCopies(const State& state) { return std::max(kWorkersForCopies, state.workers().size() / kShareForCopies); }

bool Walks::Kept(const State& state, const Worker& w) const {
  return folds_ == state.folds() && std::find(kept_.begin(), kept_.end(), RoomOf(w)) != kept_.end();
}

void Walks::NoteKept(const State& state, const Worker& w) {
  if (folds_ != state.folds() || kept_.size() == kRoomsKept) kept_.clear();
  folds_ = state.folds();
  kept_.push_back(RoomOf(w));
}

const StageKey* Walks::From(const State& state, const SlotOffer& offer, bool ready) {
  if (offer_folds_ != state.folds() || offers_ != state.offers() || worker_ != offer.worker) {
    offer_folds_ = state.folds();
    offers_ = state.offers();
    worker_ = offer.worker;
    from_ = {};
  }
  return from_[ready] ? &*from_[ready] : nullptr;
}

bool KeepsRoom(const State& state, const StageId& early, const Worker& w) {
  const Job& job = *state.FindJob(early.job);
  return WouldTakeRoom(state, job, job.graph.stages[early.stage], w) || WouldKeepCopiesOut(state, job, early, w);
}

std::optional<Choice> ChooseLocal(const State& state, const StageId& id, const SlotOffer& offer) {
  if (auto first = LocalOf(state, id, offer, false)) return first;
  // A task that does not run may not be local anywhere, and needs the slot more than one that does.
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

bool LaunchOf(const State& state, const StageId& stage, const SlotOffer& offer, Choose choose, Plan* plan) {
  std::optional<Choice> choice = choose(state, stage, offer);
  if (!choice) return false;
  const TaskId task{stage.job, stage.stage, choice->task};
  return plan->Launch(task, offer.worker, CauseOf(*state.FindTask(task)), choice->reason);
}

bool LaunchInOrder(const State& state, const SlotOffer& offer, bool ready, bool with_maps, Choose choose,
                   Plan* plan, Walks* walks) {
  const Worker& worker = *state.FindWorker(offer.worker);
  // What a launch that is drafted already leaves room for is another question.
  if (walks != nullptr && plan->Launches()) walks = nullptr;
  if (!ready && walks != nullptr && walks->Kept(state, worker)) return false;
  static const std::set<StageKey> none;
  const auto stages = [&](SlotKind kind) -> const std::set<StageKey>& {
    if (state.free(kind).count(offer.worker) == 0) return none;
    return ready ? state.ready(kind) : state.early(kind);
  };
  const std::set<StageKey>& maps = with_maps ? stages(SlotKind::kMap) : none;
  const std::set<StageKey>& reduces = stages(SlotKind::kReduce);
  const StageKey* from = walks != nullptr ? walks->From(state, offer, ready) : nullptr;
  auto m = from != nullptr ? maps.lower_bound(*from) : maps.begin();
  auto r = from != nullptr ? reduces.lower_bound(*from) : reduces.begin();
  bool all_keep = !ready && from == nullptr;
  while (m != maps.end() || r != reduces.end()) {
    const bool map = r == reduces.end() || (m != maps.end() && *m < *r);
    const StageKey& key = map ? *m++ : *r++;
    if (offer.passed.count(key.stage.job) != 0) {
      all_keep = false;
      continue;
    }
    if (!ready && walks != nullptr && KeepsRoom(state, key.stage, worker)) continue;
    if (LaunchOf(state, key.stage, offer, choose, plan)) {
      if (walks != nullptr) walks->NoteFrom(ready, key);
      return true;
    }
    all_keep = false;
  }
  if (walks != nullptr && all_keep) walks->NoteKept(state, worker);
  if (walks != nullptr) walks->NoteFrom(ready, Walks::kEnd);
  return false;
}

void TakeBackFor(const StageId& stage, const State& state, Plan* plan) {
  const Job& job = *state.FindJob(stage.job);
  uint32_t need = 0;
  for (const TaskClass& c : job.stages[stage.stage].classes) {
    if (state.FullReady(job, stage.stage, c)) need += c.ready.pending();
  }
  // Lent slots that are on their way back come first: what they do not end is taken back when they have come.
  uint32_t coming = job.taking_back;
  for (const AttemptId& id : state.lent()) coming += !state.FindAttempt(id)->live() && LentSlotHelps(state, id, stage);
  if (need <= coming) return;
  need -= coming;
  const Reason reason = Because(ReasonCode::kUpstreamReturned, need);
  for (uint32_t s = static_cast<uint32_t>(job.stages.size()); s-- > 0 && need > 0;) {
    for (const TaskClass& c : job.stages[s].classes) {
      for (const size_t partial : {1, 0}) {
        if (partial == 0 && state.FullReady(job, s, c)) continue;
        const std::set<AttemptKey>& set = c.fetching[partial];
        for (auto it = set.rbegin(); it != set.rend() && need > 0; ++it) {
          const AttemptId id{{job.id, s, it->first}, it->second};
          if (SlotHelps(state, id, stage) && plan->TakeBack(id, reason)) --need;
        }
      }
    }
  }
}

bool SlotHelps(const State& state, const AttemptId& id, const StageId& stage) {
  const Worker& w = *state.FindWorker(state.FindAttempt(id)->worker);
  if (!w.alive || w.draining) return false;
  const StageSpec& theirs = state.Spec(id.task.stage_id());
  const StageSpec& ours = state.Spec(stage);
  // Whatever is free elsewhere, the queue may not take it; with greedy reduces only maps count there.
  if (state.QueueFull(*state.FindJob(id.task.job), ours.slot_kind)) {
    return !state.sharing().by_kind || theirs.slot_kind == SlotKind::kMap;
  }
  if (state.free(ours.slot_kind).count(w.id) != 0 &&
      state.Room(w, w.used, ours.slot_kind, ours.memory_bytes)) {
    return false;  // it waits for something else than a slot
  }
  SlotUse use = w.used;
  --use.slots[KindIndex(theirs.slot_kind)];
  use.memory -= theirs.memory_bytes;
  return state.Room(w, use, ours.slot_kind, ours.memory_bytes);
}

}  // namespace mr::sched
