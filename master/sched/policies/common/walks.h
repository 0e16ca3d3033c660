// Caches the results of walks over stages, so that policies that place work do not repeat them.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "master/sched/state/state.h"
#include "master/sched/trigger.h"

namespace mr::sched {

// Results of a policy's last walk over stages, valid until the next change. They change no decision.
//
// Kept: returns true if no stage may have a task wait for inputs on this worker, since each stage has refused a worker
// with equal slots, memory and use. Without it each of thousands of offers would go through the same stages while most
// slots are free. Several combinations are remembered (kRoomsKept), since in a round of offers they alternate.
// From: a repeated offer (jobs were passed over) begins at the stage that had the launch.
class Walks {
 public:
  bool Kept(const State& state, const Worker& w) const;
  void NoteKept(const State& state, const Worker& w);
  // Returns where to begin among ready, or early, stages; null: at the first.
  const StageKey* From(const State& state, const SlotOffer& offer, bool ready);
  void NoteFrom(bool ready, const StageKey& key) { from_[ready] = key; }
  // A key that is greater than that of every stage.
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
