#include "master/sched/policies/coupling/centrality.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace mr::sched {

namespace {

// Free workers examined per choice. A guess: among more, an equally good one is examined. Workers with much of the
// input are examined in any case.
constexpr size_t kWorkersSeen = 512;

struct Outputs {
  std::map<WorkerId, double> by_worker;
  std::map<uint32_t, double> by_rack;
  double all = 0;
};

Outputs OutputsOf(const State& state, const StageId& id) {
  Outputs out;
  const Job& job = *state.FindJob(id.job);
  for (const StageInput& input : job.graph.stages[id.stage].inputs) {
    if (!input.is_edge) continue;
    for (const Task& task : job.stages[input.upstream].tasks) {
      if (task.replicas.empty()) continue;
      const Worker& w = *state.FindWorker(task.replicas.front().worker);
      const double bytes = static_cast<double>(task.manifest.bytes);
      out.by_worker[w.id] += bytes;
      out.by_rack[w.rack_number] += bytes;
      out.all += bytes;
    }
    state.Look(job.stages[input.upstream].tasks.size());
  }
  return out;
}

double CostOf(const Outputs& out, const Worker& w) {
  const auto here = out.by_worker.find(w.id);
  const auto rack = out.by_rack.find(w.rack_number);
  const double in_rack = rack == out.by_rack.end() ? 0 : rack->second;
  return 4 * (out.all - in_rack) + 2 * (in_rack - (here == out.by_worker.end() ? 0 : here->second));
}

}  // namespace

bool RunsReader(const Job& job, const Worker& w) {
  return std::any_of(w.attempts.begin(), w.attempts.end(), [&](const AttemptId& id) {
    return id.task.job == job.id && ReadsStages(job.graph.stages[id.task.stage]);
  });
}

std::vector<WorkerId> CentralWorkers(const State& state, const StageId& id, SlotKind kind, Rng& rng) {
  const Outputs out = OutputsOf(state, id);
  const Job& job = *state.FindJob(id.job);
  const std::set<WorkerId>& free = state.free(kind);
  std::vector<std::tuple<double, uint64_t, WorkerId>> costs;
  const auto add = [&](WorkerId w) {
    state.Look();
    const Worker& worker = *state.FindWorker(w);
    const uint64_t tie = rng.Next();
    if (!RunsReader(job, worker)) costs.emplace_back(CostOf(out, worker), tie, w);
  };
  if (free.size() <= kWorkersSeen) {
    for (const WorkerId w : free) add(w);
  } else {
    for (const auto& [w, bytes] : out.by_worker) {
      if (free.count(w) != 0) add(w);
    }
    const uint32_t first = free.begin()->value, last = free.rbegin()->value;
    auto it = free.lower_bound(WorkerId{first + static_cast<uint32_t>(rng.Below(last - first + 1))});
    for (size_t n = 0; n < kWorkersSeen; ++n, ++it) {
      if (it == free.end()) it = free.begin();
      if (out.by_worker.count(*it) == 0) add(*it);
    }
  }
  const size_t n = std::min(kNear, costs.size());
  std::partial_sort(costs.begin(), costs.begin() + static_cast<long>(n), costs.end());
  std::vector<WorkerId> near;
  for (size_t i = 0; i < n; ++i) near.push_back(std::get<2>(costs[i]));
  return near;
}

}  // namespace mr::sched
