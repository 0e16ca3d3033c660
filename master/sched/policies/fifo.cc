#include "master/sched/policies/fifo.h"

#include <optional>

namespace mr::sched {

namespace {

struct Choice {
  uint32_t task = 0;
  Reason reason;
};

Reason Because(ReasonCode code, double number) { return {code, "", {number}}; }

// The first of these tasks that need not wait for another worker. `task_of` tells members of the
// set to tasks.
template <class F>
uint32_t FirstFor(const State& state, const StageKey& key, WorkerId worker, const IndexSet& set, F&& task_of) {
  const Worker& w = *state.FindWorker(worker);
  const StageSpec& spec = state.Spec(key.stage);
  const Stage& stage = *state.FindStage(key.stage);
  if (set.empty()) return IndexSet::kNone;
  for (uint32_t i = set.First(); i != IndexSet::kNone; i = set.Next(i + 1)) {
    if (!state.BetterElsewhere(spec, stage.tasks[task_of(i)], w)) return task_of(i);
  }
  return IndexSet::kNone;
}

uint32_t FirstFor(const State& state, const StageKey& key, WorkerId worker, const IndexSet& set) {
  return FirstFor(state, key, worker, set, [](uint32_t i) { return i; });
}

uint32_t FirstLocal(const State& state, const StageKey& key, WorkerId worker, const LocalList& list) {
  return FirstFor(state, key, worker, list.pending, [&](uint32_t i) { return list.tasks[i]; });
}

Reason WhyAgain(const Task& task) {
  if (task.lost) return Because(ReasonCode::kOutputLost, task.generation);
  return Because(ReasonCode::kRetryAfterFailure, task.failures + task.other_failures);
}

class Fifo final : public Policy {
 public:
  std::string_view name() const override { return "fifo"; }

  void Refine(const Trigger& trigger, const View& view, Rng&, Plan& plan) const override {
    if (const auto* offer = std::get_if<SlotOffer>(&trigger)) Offer(*offer, view.state(), &plan);
    if (const auto* wanted = std::get_if<SlotsWanted>(&trigger)) {
      TakeBackFor(wanted->stage, view.state(), &plan);
    }
  }

 private:
  using Choose = std::optional<Choice> (*)(const State&, const StageKey&, const SlotOffer&);

  static void Offer(const SlotOffer& offer, const State& state, Plan* plan) {
    if (LaunchFrom(state, offer, true, offer.local_only ? &ChooseLocal : &ChooseReady, plan)) return;
    if (!offer.local_only) LaunchFrom(state, offer, false, &ChooseEarly, plan);
  }

  // The first stage in order from which something can be launched, over the slot kinds in which
  // the worker has room.
  static bool LaunchFrom(const State& state, const SlotOffer& offer, bool ready, Choose choose,
                         Plan* plan) {
    const std::set<StageKey> none;
    const auto stages = [&](SlotKind kind) -> const std::set<StageKey>& {
      if (state.free(kind).count(offer.worker) == 0) return none;
      return ready ? state.ready(kind) : state.early(kind);
    };
    const std::set<StageKey>& maps = stages(SlotKind::kMap);
    const std::set<StageKey>& reduces = stages(SlotKind::kReduce);
    auto m = maps.begin();
    auto r = reduces.begin();
    while (m != maps.end() || r != reduces.end()) {
      const bool map = r == reduces.end() || (m != maps.end() && *m < *r);
      const StageKey& key = map ? *m++ : *r++;
      std::optional<Choice> choice = choose(state, key, offer);
      if (!choice) continue;
      const TaskId task{key.stage.job, key.stage.stage, choice->task};
      if (plan->Launch(task, offer.worker, CauseOf(*state.FindTask(task)), choice->reason)) return true;
    }
    return false;
  }

  static Cause CauseOf(const Task& task) {
    if (task.live > 0) return Cause::kClone;
    return task.next_number > 1 ? Cause::kRetry : Cause::kFirst;
  }

  static std::optional<Choice> ChooseLocal(const State& state, const StageKey& key,
                                           const SlotOffer& offer) {
    const Job& job = *state.FindJob(key.stage.job);
    for (const TaskClass& c : job.stages[key.stage.stage].classes) {
      const auto it = c.ready.by_worker.find(offer.worker);
      if (it == c.ready.by_worker.end() || !state.FullReady(job, key.stage.stage, c)) continue;
      const uint32_t task = FirstLocal(state, key, offer.worker, it->second);
      if (task == IndexSet::kNone) continue;
      const Task& t = job.stages[key.stage.stage].tasks[task];
      if (c.ready.retry.Contains(task)) return Choice{task, WhyAgain(t)};
      return Choice{task, Because(ReasonCode::kLocalInput, it->second.pending.size())};
    }
    return std::nullopt;
  }

  static std::optional<Choice> ChooseReady(const State& state, const StageKey& key,
                                           const SlotOffer& offer) {
    const Job& job = *state.FindJob(key.stage.job);
    const Stage& stage = job.stages[key.stage.stage];
    const Worker& worker = *state.FindWorker(offer.worker);
    for (const TaskClass& c : stage.classes) {
      if (c.ready.size() == 0 || !state.FullReady(job, key.stage.stage, c)) continue;
      const uint32_t again = FirstFor(state, key, offer.worker, c.ready.retry);
      if (again != IndexSet::kNone) return Choice{again, WhyAgain(stage.tasks[again])};
    }
    if (auto local = ChooseLocal(state, key, offer)) return local;
    for (const TaskClass& c : stage.classes) {
      const auto it = c.ready.by_rack.find(worker.rack);
      if (it == c.ready.by_rack.end() || !state.FullReady(job, key.stage.stage, c)) continue;
      const uint32_t task = FirstLocal(state, key, offer.worker, it->second);
      if (task != IndexSet::kNone) {
        return Choice{task, Because(ReasonCode::kRackInput, it->second.pending.size())};
      }
    }
    for (const TaskClass& c : stage.classes) {
      if (c.ready.fresh.empty() || !state.FullReady(job, key.stage.stage, c)) continue;
      const uint32_t task = FirstFor(state, key, offer.worker, c.ready.fresh);
      if (task == IndexSet::kNone) continue;
      return Choice{task, Because(ReasonCode::kAnyWorker, worker.slots.total - worker.used_total())};
    }
    return std::nullopt;
  }

  static std::optional<Choice> ChooseEarly(const State& state, const StageKey& key,
                                           const SlotOffer& offer) {
    const Job& job = *state.FindJob(key.stage.job);
    const auto first = [&](const IndexSet& set) { return FirstFor(state, key, offer.worker, set); };
    const uint32_t unfinished = state.UpstreamUnfinished(job, key.stage.stage);
    for (const TaskClass& c : job.stages[key.stage.stage].classes) {
      uint32_t task = IndexSet::kNone;
      if (!state.FullReady(job, key.stage.stage, c)) {
        task = first(c.ready.retry);
        if (task == IndexSet::kNone) task = first(c.ready.fresh);
      }
      if (task == IndexSet::kNone) task = first(c.blocked);
      if (task == IndexSet::kNone) continue;
      return Choice{task, Because(ReasonCode::kWaitingEarly, unfinished)};
    }
    return std::nullopt;
  }

  // As many waiting attempts of the same job as there are tasks of this stage without a slot, less
  // those that are on their way back already.
  static void TakeBackFor(const StageKey& key, const State& state, Plan* plan) {
    const Job& job = *state.FindJob(key.stage.job);
    uint32_t need = 0;
    for (const TaskClass& c : job.stages[key.stage.stage].classes) {
      if (state.FullReady(job, key.stage.stage, c)) need += c.ready.size();
    }
    if (need <= job.taking_back) return;
    need -= job.taking_back;
    const Reason reason = Because(ReasonCode::kUpstreamReturned, need);
    for (uint32_t s = static_cast<uint32_t>(job.stages.size()); s-- > 0 && need > 0;) {
      for (const TaskClass& c : job.stages[s].classes) {
        for (const size_t partial : {1, 0}) {
          if (partial == 0 && state.FullReady(job, s, c)) continue;
          const std::set<AttemptKey>& set = c.fetching[partial];
          for (auto it = set.rbegin(); it != set.rend() && need > 0; ++it) {
            const AttemptId id{{job.id, s, it->first}, it->second};
            if (SlotHelps(state, id, key) && plan->TakeBack(id, reason)) --need;
          }
        }
      }
    }
  }

  // Whether the stage could use the slot of this attempt.
  static bool SlotHelps(const State& state, const AttemptId& id, const StageKey& key) {
    const Worker& w = *state.FindWorker(state.FindAttempt(id)->worker);
    if (!w.alive || w.draining) return false;
    const StageSpec& theirs = state.Spec(id.task.stage_id());
    const StageSpec& ours = state.Spec(key.stage);
    SlotUse use = w.used;
    --use.slots[KindIndex(theirs.slot_kind)];
    use.memory -= theirs.memory_bytes;
    return state.Room(w, use, ours.slot_kind, ours.memory_bytes);
  }
};

}  // namespace

Result<std::unique_ptr<Policy>> MakeFifo(PolicyParams*) {
  return std::unique_ptr<Policy>(std::make_unique<Fifo>());
}

}  // namespace mr::sched
