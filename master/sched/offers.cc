#include "master/sched/offers.h"

#include <algorithm>

#include "master/sched/plan.h"

namespace mr::sched {

bool OfferRounds::WorkFor(WorkerId worker) const {
  for (const SlotKind kind : kSlotKinds) {
    if (state_.ready(kind).empty() && state_.early(kind).empty()) continue;
    if (state_.FindWorker(worker)->is_free[KindIndex(kind)]) return true;
  }
  return false;
}

bool OfferRounds::Refuses(std::string_view asker, const TaskId& task, WorkerId worker) const {
  return lists_.Refuses(asker, state_, now_, task, worker);
}

bool OfferRounds::Offer(WorkerId worker, bool local_only, bool idle) {
  const uint32_t before = state_.FindWorker(worker)->used_total();
  Trigger trigger = SlotOffer{worker, local_only, idle, {}, this};
  SlotOffer& offer = std::get<SlotOffer>(trigger);
  bool launched = false;
  state_.Look();
  while (true) {
    const View view(state_, now_);
    Plan plan(view);
    lists_.Refine(trigger, state_, now_, &plan);
    if (!plan.edits().empty()) core_.Fold(plan);
    launched = state_.FindWorker(worker)->used_total() > before;
    const size_t passed = offer.passed.size();
    for (const JobId job : plan.passed()) offer.passed.insert(job);
    if (launched || offer.passed.size() == passed) break;
  }
  state_.CountOffer(launched ? worker : WorkerId{});
  return launched;
}

// Adds the free workers that hold the input of a pending task. It goes through the shorter of the two lists: in a full
// cluster one worker is free, and thousands hold inputs of each stage; in an empty one it is the other way round.
void OfferRounds::AddLocal(const LocalLists& local, const std::set<WorkerId>& free, std::set<WorkerId>* workers) const {
  if (!local.AnyPending()) return state_.Look();
  const std::vector<uint32_t>& places = local.places();
  state_.Look(std::min(free.size(), places.size()));
  if (free.size() < places.size()) {
    for (const WorkerId w : free) {
      if (local.CountPending(local.Find(w.value)) > 0) workers->insert(w);
    }
    return;
  }
  for (uint32_t l = 0; l < places.size(); ++l) {
    if (local.CountPending(l) > 0 && free.contains(WorkerId{places[l]})) workers->insert(WorkerId{places[l]});
  }
}

// Offers each worker first the tasks whose input it holds, so that no other worker takes them: one per worker and
// round, so that they share its disk and network with few others.
void OfferRounds::Local() {
  std::set<WorkerId> workers;
  for (const SlotKind kind : kSlotKinds) {
    const std::set<WorkerId>& free = state_.free(kind);
    if (free.empty() || state_.placed(kind).empty()) continue;
    std::set<WorkerId> of_kind;
    for (const StageKey& key : state_.placed(kind)) {
      if (of_kind.size() == free.size()) break;
      const Stage& stage = *state_.FindStage(key.stage);
      for (const TaskClass& c : stage.classes) AddLocal(c.ready.by_worker, free, &of_kind);
    }
    workers.merge(of_kind);
  }
  while (!workers.empty()) std::erase_if(workers, [&](WorkerId w) { return !WorkFor(w) || !Offer(w, true, false); });
}

// Returns the next worker after `cursor` with room for a kind that has work; invalid = none.
WorkerId OfferRounds::NextFree(WorkerId cursor) const {
  WorkerId next;
  for (const SlotKind kind : kSlotKinds) {
    if (state_.ready(kind).empty() && state_.early(kind).empty()) continue;
    const auto it = state_.free(kind).upper_bound(cursor);
    if (it != state_.free(kind).end() && (!next.valid() || *it < next)) next = *it;
  }
  return next;
}

void OfferRounds::All() {
  Local();
  WorkerId cursor = state_.offer_cursor();
  WorkerId declined_first;  // the first of the latest workers in a row that launched nothing
  while (true) {
    WorkerId next = NextFree(cursor);
    if (!next.valid()) next = NextFree({});
    if (!next.valid() || next == declined_first) return;
    cursor = next;
    if (Offer(next, false, false))
      declined_first = {};
    else if (!declined_first.valid())
      declined_first = next;
  }
}

void OfferRounds::Freed() {
  const FlatSet<WorkerId> freed = core_.freed;
  for (const WorkerId w : freed) {
    while (WorkFor(w) && Offer(w, false, false)) {
    }
  }
}

void OfferRounds::Idle() {
  if (state_.free(SlotKind::kMap).empty() && state_.free(SlotKind::kReduce).empty()) return;
  state_.CountReports();  // before the round, which would note each of their stages
  state_.BeginIdleRound();
  for (const SlotKind kind : kSlotKinds) {
    WorkerId cursor = state_.offer_cursor();
    WorkerId declined_first;
    while (lists_.Seeks(state_, now_, kind)) {
      auto it = state_.free(kind).upper_bound(cursor);
      if (it == state_.free(kind).end()) it = state_.free(kind).begin();
      if (it == state_.free(kind).end() || *it == declined_first) break;
      cursor = *it;
      if (Offer(cursor, false, true))
        declined_first = {};
      else if (!declined_first.valid())
        declined_first = cursor;
    }
  }
  state_.EndIdleRound();
}

void OfferRounds::ArmTimer() {
  for (const SlotKind kind : kSlotKinds) {
    if (state_.free(kind).empty()) continue;
    if (state_.ready(kind).empty() && state_.early(kind).empty() && state_.speculable(kind).empty()) continue;
    core_.WakeCoreAt(now_ + state_.config().offer_period);
    return;
  }
}

}  // namespace mr::sched
