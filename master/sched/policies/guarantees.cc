#include "master/sched/policies/guarantees.h"

#include "master/sched/policies/place.h"

namespace mr::sched {

namespace {

// A task with inputs of this job, where its queue may have one more.
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
  const auto& guaranteed = state.guaranteed();
  const auto serve = [&](auto from, auto to) {
    for (auto it = from; it != to; ++it) {
      const Job& job = *state.FindJob(it->second);
      if (AtGuarantee(job) || offer.passed.count(job.id) != 0) continue;
      const Served served = LaunchReady(job, offer, state, choose, plan);
      if (served == Served::kLaunched) return true;
      if (served == Served::kWaits) all = served;
    }
    return false;
  };
  const auto in_time = guaranteed.lower_bound({now, {}});
  if (serve(in_time, guaranteed.end()) || serve(guaranteed.begin(), in_time)) return Served::kLaunched;
  return all;
}

bool LaunchSpare(const SlotOffer& offer, const State& state, Choose choose, Plan* plan) {
  for (const auto& [due, id] : state.guaranteed()) {
    const Job& job = *state.FindJob(id);
    if (!AtGuarantee(job) || offer.passed.count(id) != 0) continue;
    if (LaunchReady(job, offer, state, choose, plan) == Served::kLaunched) return true;
  }
  return false;
}

GuaranteedUse UseOfGuarantees(const State& state) {
  GuaranteedUse use;
  for (const auto& [due, id] : state.guaranteed()) {
    const Job& job = *state.FindJob(id);
    const uint32_t held = state.sharing().by_kind ? job.held[KindIndex(SlotKind::kMap)] : job.holding;
    if (job.in_queue != nullptr) use.of_queue[job.in_queue->number] += held;
    use.within += std::min(job.share, held);
  }
  return use;
}

}  // namespace mr::sched
