// Cache with which policies that place work do not repeat the same walk over stages.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "master/sched/state/state.h"
#include "master/sched/trigger.h"

namespace mr::sched {

// Findings of a policy's last walk over stages, valid as long as nothing changes. It decides nothing else than another
// walk would.
//
// Kept: no stage may have a task wait for inputs on this worker, since each has refused a worker with equal slots,
// memory and use. While most slots are free and the same stages keep them so, each offer of thousands would otherwise
// go through all of these stages. Some such workers are remembered: in a round of offers those with one slot in use and
// those with three take turns.
// From: an offer that is repeated, since jobs were passed over, begins at the stage that had the launch.
class Walks {
 public:
  bool Kept(const State& state, const Worker& w) const;
  void NoteKept(const State& state, const Worker& w);
  // Returns where to begin among ready, or early, stages; null: at the first.
  const StageKey* From(const State& state, const SlotOffer& offer, bool ready);
  void NoteFrom(bool ready, const StageKey& key) { from_[ready] = key; }
  // Comes after all stages.
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
