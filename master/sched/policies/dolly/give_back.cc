#include "master/sched/policies/dolly/give_back.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "master/sched/policies/common/lent_slots.h"

namespace mr::sched {

namespace {

// Tasks that no lent slot helps after which the rest of the stage is skipped, since it is similar. A guess.
constexpr size_t kMisses = 8;
// Waiting stages examined from the first on, and as many elsewhere. A guess: fewer wait while slots are idle.
constexpr size_t kStagesWalked = 64;
// Names of the facts that store where the next walk continues: after this stage of the job of this rank and arrival.
constexpr char kRank[] = "rank", kArrival[] = "arrival", kStage[] = "stage";

struct Lent {
  AttemptId id;
  const Attempt* a;
  const Task* task;
  bool coming = false;  // it ends already
  bool used = false;    // by a task that waits for its queue to hold less
  auto Key() const {
    return std::make_tuple(!coming, task->state != TaskState::kCommitted, ScoreOf(*a), -a->launched_at.ns, id);
  }
};

// A worker that has lent slots.
struct Place {
  const Worker* worker = nullptr;
  std::vector<size_t> lent;  // those that still run, in the order in which they end
  SlotUse after;             // once all ending ones are back and given to waiting tasks
};

void Give(SlotUse* use, const StageSpec& spec) {
  ++use->slots[KindIndex(spec.slot_kind)];
  use->memory += spec.memory_bytes;
}

// Matches lent slots with waiting tasks.
class Lender {
 public:
  Lender(const View& view, Plan* plan) : view_(view), state_(view.state()), plan_(*plan) {
    for (const AttemptId& id : state_.lent()) {
      const Attempt* a = state_.FindAttempt(id);
      lent_.push_back({id, a, state_.FindTask(id.task), !a->live()});
    }
    std::sort(lent_.begin(), lent_.end(), [](const Lent& x, const Lent& y) { return x.Key() < y.Key(); });
    for (size_t i = 0; i < lent_.size(); ++i) {
      const Worker& w = *state_.FindWorker(lent_[i].a->worker);
      if (!MayBeOffered(w)) continue;
      Place& place = places_[w.id];
      if (place.worker == nullptr) place = {&w, {}, w.used};
      if (lent_[i].coming)
        place.after = Without(place.after, SpecOf(lent_[i]));
      else
        place.lent.push_back(i);
    }
  }

  // Returns false if there are stages that it has not examined.
  bool GiveBack() {
    bool all = true;
    for (const SlotKind kind : kSlotKinds) all = Walk(state_.ready(kind), true, KindIndex(kind)) && all;
    for (const SlotKind kind : kSlotKinds) all = Walk(state_.early(kind), false, KindIndex(kind)) && all;
    return all;
  }

 private:
  const StageSpec& SpecOf(const Lent& lent) const { return state_.Spec(lent.id.task.stage_id()); }

  bool Walk(const std::set<StageKey>& stages, bool ready, uint64_t fact) {
    const std::string scope = ready ? "ready" : "early";
    auto it = stages.begin();
    for (size_t n = 0; it != stages.end() && n < kStagesWalked; ++it, ++n) ForStage(it->stage, ready);
    const bool known = view_.FindFact(scope, fact, kArrival) != nullptr;
    if (known && it != stages.end()) {
      const auto arrival = static_cast<uint64_t>(view_.Number(scope, fact, kArrival));
      const StageKey job{view_.Number(scope, fact, kRank), arrival, {}};
      if (*it < job) it = stages.lower_bound(job);
      while (it != stages.end() && it->arrival == arrival && it->stage.stage <= view_.Number(scope, fact, kStage)) ++it;
    }
    for (size_t n = 0; it != stages.end() && n < kStagesWalked; ++it, ++n) ForStage(it->stage, ready);
    if (it != stages.end()) {
      const StageKey& last = *std::prev(it);
      plan_.Remember(scope, fact, kRank, last.rank);
      plan_.Remember(scope, fact, kArrival, static_cast<int64_t>(last.arrival));
      plan_.Remember(scope, fact, kStage, int64_t{last.stage.stage});
    } else if (known) {
      plan_.ForgetAll(scope, fact);
    }
    return stages.size() <= 2 * kStagesWalked;
  }

  void ForStage(const StageId& id, bool ready) {
    state_.Look();
    const Job& job = *state_.FindJob(id.job);
    const StageSpec& spec = job.graph.stages[id.stage];
    const Queue* full = state_.QueueFull(job, spec.slot_kind) ? job.in_queue : nullptr;
    const Need need{full, spec.slot_kind, full != nullptr ? 0 : spec.memory_bytes};
    if (hopeless_.count(need) != 0) return;
    size_t most = ready ? SIZE_MAX : EarlyThatMayStart(state_, id), misses = 0;
    for (const TaskClass& c : job.stages[id.stage].classes) {
      std::vector<const IndexSet*> sets;
      if (state_.FullReady(job, id.stage, c) == ready) sets = {&c.ready.retry, &c.ready.fresh, &c.ready.clones};
      if (!ready) sets.push_back(&c.blocked);
      for (const IndexSet* set : sets) {
        for (uint32_t t = set->First(); t != IndexSet::kNone && most > 0; t = set->Next(t + 1), --most) {
          const Task& task = job.stages[id.stage].tasks[t];
          const double waiting = c.ready.size() + c.blocked.size();
          if (full != nullptr ? FindInQueue(*full, spec, waiting) : FindPlace(spec, task, waiting)) continue;
          // Lent slots only become fewer during the walk, so later tasks with this need fail, too.
          if (full != nullptr || (task.failed_on.empty() && task.live == 0)) return (void)hopeless_.insert(need);
          if (++misses == kMisses) return;
        }
      }
    }
  }

  bool End(size_t i, double waiting) {
    Lent& lent = lent_[i];
    Place& place = places_.at(lent.a->worker);
    if (!plan_.Kill(lent.id, {ReasonCode::kSlotWanted, "", {waiting}})) return false;
    lent.coming = true;
    ++ended_[lent.id.task];
    std::erase(place.lent, i);
    place.after = Without(place.after, SpecOf(lent));
    return true;
  }

  // Returns whether the attempt may end without its task having to start again.
  bool MayEnd(const Lent& lent) const {
    if (lent.coming) return false;
    const auto ended = ended_.find(lent.id.task);
    const uint32_t left = lent.task->live - (ended == ended_.end() ? 0 : ended->second);
    return lent.task->state == TaskState::kCommitted || left > 1;
  }

  // Finds a lent slot of this full queue. Once the queue holds less, the task may start anywhere.
  bool FindInQueue(const Queue& queue, const StageSpec& spec, double waiting) {
    const auto found = std::find_if(lent_.begin(), lent_.end(), [&](const Lent& lent) {
      if (lent.used || state_.FindJob(lent.id.task.job)->in_queue != &queue) return false;
      const auto place = places_.find(lent.a->worker);
      return place != places_.end() && CountsInQueue(state_, SpecOf(lent).slot_kind) && (lent.coming || MayEnd(lent));
    });
    if (found == lent_.end()) return false;
    if (!found->coming && !End(static_cast<size_t>(found - lent_.begin()), waiting)) return false;
    found->used = true;
    SlotUse* after = &places_.at(found->a->worker).after;
    if (state_.Room(*state_.FindWorker(found->a->worker), *after, spec.slot_kind, spec.memory_bytes)) Give(after, spec);
    return true;
  }

  bool FindPlace(const StageSpec& spec, const Task& task, double waiting) {
    const auto good = [&](const Place& place) {
      const Worker& w = *place.worker;
      // If there is room already, the task waits for something other than a slot.
      return !state_.Room(w, w.used, spec.slot_kind, spec.memory_bytes) && !state_.BelongsElsewhere(spec, task, w);
    };
    const auto room = [&](const Place& place, const SlotUse& use) {
      return state_.Room(*place.worker, use, spec.slot_kind, spec.memory_bytes);
    };
    for (auto& [id, place] : places_) {
      if (!room(place, place.after) || !good(place)) continue;
      Give(&place.after, spec);
      return true;
    }
    const auto try_one = [&](size_t i) {
      Place& place = places_.at(lent_[i].a->worker);
      if (!MayEnd(lent_[i]) || !room(place, Without(place.after, SpecOf(lent_[i]))) || !good(place)) return false;
      if (!End(i, waiting)) return false;
      Give(&place.after, spec);
      return true;
    };
    for (const WorkerId w : task.plan.preferred) {
      const auto there = places_.find(w);
      if (there == places_.end()) continue;
      for (const size_t i : std::vector<size_t>(there->second.lent)) {
        if (try_one(i)) return true;
      }
    }
    for (size_t i = 0; i < lent_.size(); ++i) {
      if (!lent_[i].coming && places_.count(lent_[i].a->worker) != 0 && try_one(i)) return true;
    }
    return FindSeveral(spec, good, room, waiting);
  }

  // Ends several attempts of the worker on which the fewest are enough.
  template <class Good, class HasRoom>
  bool FindSeveral(const StageSpec& spec, const Good& good, const HasRoom& room, double waiting) {
    std::vector<size_t> fewest;
    for (const auto& [id, place] : places_) {
      if (place.lent.size() < 2 || !good(place)) continue;
      SlotUse use = place.after;
      std::vector<size_t> some;
      for (const size_t i : place.lent) {
        if (room(place, use)) break;
        if (!MayEnd(lent_[i])) continue;
        some.push_back(i);
        use = Without(use, SpecOf(lent_[i]));
      }
      if (room(place, use) && (fewest.empty() || some.size() < fewest.size())) fewest = some;
    }
    if (fewest.empty()) return false;
    for (const size_t i : fewest) End(i, waiting);
    Give(&places_.at(lent_[fewest[0]].a->worker).after, spec);
    return true;
  }

  // Need of a task: its queue must hold less (the queue is set), or a worker must have room.
  using Need = std::tuple<const Queue*, SlotKind, uint64_t>;

  const View& view_;
  const State& state_;
  Plan& plan_;
  std::vector<Lent> lent_;  // ending ones first, then in the order in which they end
  std::map<WorkerId, Place> places_;
  std::map<TaskId, uint32_t> ended_;
  std::set<Need> hopeless_;
};

}  // namespace

bool GiveBackLentSlots(const View& view, Plan* plan) { return Lender(view, plan).GiveBack(); }

}  // namespace mr::sched
