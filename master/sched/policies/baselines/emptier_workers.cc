#include "master/sched/policies/baselines/emptier_workers.h"

#include <algorithm>

#include "master/sched/policies/baselines/blacklist.h"

namespace mr::sched {

namespace {
// Workers with a free slot examined per offer. A guess.
constexpr size_t kFreeSeen = 256;
}  // namespace

const std::vector<const Worker*>& EmptierWorkers::EmptiestFirst(const State& state, SlotKind kind) {
  Seen& seen = seen_[KindIndex(kind)];
  if (seen.folds == state.folds()) return seen.workers;
  seen.folds = state.folds();
  seen.workers.clear();
  const bool listed = AnyListed(state);
  size_t n = 0;
  for (auto it = state.free(kind).begin(); it != state.free(kind).end() && n < kFreeSeen; ++it, ++n) {
    const Worker& w = *state.FindWorker(*it);
    if (IdleEnough(w) && !(listed && IsListed(state, w.id))) seen.workers.push_back(&w);
  }
  std::stable_sort(seen.workers.begin(), seen.workers.end(),
                   [](const Worker* a, const Worker* b) { return a->used_total() < b->used_total(); });
  return seen.workers;
}

bool EmptierWorkers::AnyFor(const State& state, const StageSpec& spec, const Task& task, const Worker& worker) {
  for (const Worker* other : EmptiestFirst(state, spec.slot_kind)) {
    if (other->used_total() >= worker.used_total()) return false;
    if (State::LiveOn(task, other->id) || !state.Room(*other, other->used, spec.slot_kind, spec.memory_bytes)) continue;
    if (state.TimesFailedOn(task, *other) == 0) return true;
  }
  return false;
}

}  // namespace mr::sched
