// What the policies that place work decide alike: which task of a stage goes to a worker, and which
// waiting attempts give their slots back. The order of stages and jobs is the policy's own.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "master/sched/plan.h"
#include "master/sched/trigger.h"

namespace mr::sched {

struct Choice {
  uint32_t task = 0;
  Reason reason;
};
using Choose = std::optional<Choice> (*)(const State&, const StageId&, const SlotOffer&);

// All of them: a task that does not run before a clone of one that does, for clones are to speed a phase up, not to keep
// its tasks waiting where room is narrow.
//
// A task whose input the worker holds.
std::optional<Choice> ChooseLocal(const State& state, const StageId& id, const SlotOffer& offer);
// A task with all of its inputs: one that ran before, else local, in the rack, any.
std::optional<Choice> ChooseReady(const State& state, const StageId& id, const SlotOffer& offer);
// A task that will wait for inputs on its slot; none where it would take the room of a task of the
// same job that need not wait, since it would be taken back at once.
std::optional<Choice> ChooseEarly(const State& state, const StageId& id, const SlotOffer& offer);

// Workers that are to keep room for copies, where a waiting attempt would take it.
size_t KeptForCopies(const State& state);

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

// Whether an attempt of this stage that waits for its inputs would take the room here that its job needs for tasks
// that need not wait, or for copies. By the worker's slots and memory alone.
bool KeepsRoom(const State& state, const StageId& early, const Worker& w);

// Launches what `choose` says; false where that is nothing or is refused.
bool LaunchOf(const State& state, const StageId& stage, const SlotOffer& offer, Choose choose, Plan* plan);
// From the first stage by priority and arrival from which something can be launched, over the kinds
// in which the worker has room (all, or reduces only). walks: of this policy; may be null.
bool LaunchInOrder(const State& state, const SlotOffer& offer, bool ready, bool with_maps, Choose choose,
                   Plan* plan, Walks* walks = nullptr);

// As many waiting attempts of the same job as there are tasks of this stage without an attempt, less
// those that are on their way back already; the latest first.
void TakeBackFor(const StageId& stage, const State& state, Plan* plan);
// Whether the stage lacks the slot of this attempt, and could use it.
bool SlotHelps(const State& state, const AttemptId& id, const StageId& stage);

}  // namespace mr::sched
