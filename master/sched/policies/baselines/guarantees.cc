#include "master/sched/policies/baselines/guarantees.h"

#include "master/sched/policies/common/place.h"

namespace mr::sched {

namespace {

// Launches a task with inputs of this job, if its queue may have one more.
Served LaunchReady(const Job& job, const SlotOffer& offer, const State& state, Choose choose, Plan* plan) {
  Served served = Served::kNothing;
  for (uint32_t s = 0; s < job.stages.size(); ++s) {
    const SlotKind kind = job.graph.stages[s].slot_kind;
    if (!job.stages[s].in_ready || state.QueueFull(job, kind)) continue;
    if (state.free(kind).count(offer.worker) == 0) continue;
    const Worker& w = *state.FindWorker(offer.worker);
    if (!state.Room(w, w.used, kind, job.graph.stages[s].memory_bytes)) continue;
    served = Served::kWaits;
    if (LaunchOf(state, {job.id, s}, offer, choose, plan)) return Served::kLaunched;
  }
  return served;
}

}  // namespace

Served LaunchGuaranteed(const SlotOffer& offer, const State& state, Instant now, Choose choose, Plan* plan) {
  Served all = Served::kNothing;
  const auto serve = [&](auto from, auto to) {
    for (auto it = from; it != to; ++it) {
      if (offer.passed.count(it->second) != 0) continue;
      state.Look();
      const Served served = LaunchReady(*state.FindJob(it->second), offer, state, choose, plan);
      if (served == Served::kLaunched) return true;
      if (served == Served::kWaits) all = served;
    }
    return false;
  };
  const auto& wanting = state.wanting();
  const auto in_time = wanting.lower_bound({now, {}});
  if (serve(in_time, wanting.end()) || serve(wanting.begin(), in_time)) return Served::kLaunched;
  return all;
}

bool LaunchSpare(const SlotOffer& offer, const State& state, Choose choose, Plan* plan) {
  for (const auto& [due, id] : state.spare()) {
    if (offer.passed.count(id) != 0) continue;
    state.Look();
    if (LaunchReady(*state.FindJob(id), offer, state, choose, plan) == Served::kLaunched) return true;
  }
  return false;
}

}  // namespace mr::sched
