#include "master/sched/policies/common/walks.h"

#include <algorithm>

namespace mr::sched {

namespace {
// Workers that Walks distinguishes. A guess: slots of one kind of machine, some of them in use.
constexpr size_t kRoomsKept = 16;
}  // namespace

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

}  // namespace mr::sched
