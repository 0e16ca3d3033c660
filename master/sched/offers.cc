#include "master/sched/offers.h"

#include <algorithm>

#include "master/sched/plan.h"

namespace mr::sched {

bool OfferRounds::WorkFor(WorkerId worker) const {
  for (const SlotKind kind : kSlotKinds) {
    if (state_.ready(kind).empty() && state_.early(kind).empty()) continue;
    if (state_.free(kind).count(worker) != 0) return true;
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

// Moves the workers of `rest` that hold the input of a pending task to `workers`. It goes through the shorter of
// the two lists: in a full cluster one worker is free, and thousands hold inputs of each stage.
void OfferRounds::MoveLocal(const LocalLists& local, std::vector<WorkerId>* rest, std::set<WorkerId>* workers) const {
  if (!local.AnyPending()) return;
  const std::vector<uint32_t>& places = local.places();
  state_.Look(std::min(rest->size(), places.size()));
  if (rest->size() < places.size()) {
    std::erase_if(*rest, [&](WorkerId w) {
      const bool holds = local.CountPending(local.Find(w.value)) > 0;
      if (holds) workers->insert(w);
      return holds;
    });
    return;
  }
  size_t l = 0;
  std::erase_if(*rest, [&](WorkerId w) {
    while (l < places.size() && places[l] < w.value) ++l;
    if (l == places.size() || places[l] != w.value) return false;
    if (local.CountPending(local.At(static_cast<uint32_t>(l))) == 0) return false;
    workers->insert(w);
    return true;
  });
}

// Offers each worker first the tasks whose input it holds, so that no other worker takes them.
void OfferRounds::Local() {
  std::set<WorkerId> workers;
  for (const SlotKind kind : kSlotKinds) {
    if (state_.free(kind).empty() || state_.ready(kind).empty()) continue;
    std::vector<WorkerId> rest(state_.free(kind).begin(), state_.free(kind).end());
    for (const StageKey& key : state_.ready(kind)) {
      if (rest.empty()) break;
      const Stage& stage = *state_.FindStage(key.stage);
      for (const TaskClass& c : stage.classes) MoveLocal(c.ready.by_worker, &rest, &workers);
    }
  }
  for (const WorkerId w : workers) {
    while (WorkFor(w) && Offer(w, true, false)) {
    }
  }
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
  state_.BeginIdleRound();
  state_.CountReports();
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
