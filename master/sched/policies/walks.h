// What spares policies that place work the same walk over stages again.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "master/sched/state.h"
#include "master/sched/trigger.h"

namespace mr::sched {

// What a policy found when it last went through stages, good for as long as nothing changes. For speed alone: it says
// what another walk would.
//
// Kept: no stage may have a task wait on this worker for its inputs, since another one with the same slots and
// memory, as much of them used, was told so by each stage. While most slots are free and the same stages keep them so,
// each offer of thousands would else go through all of these stages. Some such workers are remembered: in a round of
// offers those with one slot in use and those with three take turns.
// From: an offer that is made again, since jobs were passed over, begins at the stage that had the launch.
class Walks {
 public:
  bool Kept(const State& state, const Worker& w) const;
  void NoteKept(const State& state, const Worker& w);
  // Null: at the beginning. Of ready, or of early stages.
  const StageKey* From(const State& state, const SlotOffer& offer, bool ready);
  void NoteFrom(bool ready, const StageKey& key) { from_[ready] = key; }
  // As a stage behind all others.
  static constexpr StageKey kEnd{INT64_MAX, UINT64_MAX, {}};

 private:
  struct Room {
    std::array<bool, 2> free{};
    Slots slots;
    SlotUse used;
    uint64_t memory = 0;
    bool operator==(const Room&) const = default;
  };
  static Room RoomOf(const Worker& w) { return {w.is_free, w.slots, w.used, w.memory_bytes}; }

  uint64_t folds_ = ~uint64_t{0};  // of kept_
  std::vector<Room> kept_;

  uint64_t offer_folds_ = ~uint64_t{0}, offers_ = 0;
  WorkerId worker_;
  std::array<std::optional<StageKey>, 2> from_;
};

}  // namespace mr::sched
