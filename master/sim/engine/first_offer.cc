#include "master/sim/engine/first_offer.h"

#include <algorithm>

#include "common/base/rng.h"

namespace mr::sim {

void OfferFromAnyWorker(Experiment* experiment) {
  auto& workers = experiment->cluster.workers;
  if (workers.empty()) return;
  const size_t first = Rng::Stream(experiment->seed, "first offer").Below(workers.size());
  const auto renumbered = [&](size_t w) {
    return static_cast<uint32_t>((w % workers.size() + workers.size() - first) % workers.size());
  };
  std::rotate(workers.begin(), workers.begin() + static_cast<std::ptrdiff_t>(first), workers.end());
  for (Fault& fault : experiment->faults.faults) fault.worker = renumbered(fault.worker);
  for (JobModel& job : experiment->jobs) {
    for (StageModel& stage : job.stages) {
      for (auto& preferred : stage.preferred) {
        for (uint32_t& worker : preferred) worker = renumbered(worker);
      }
    }
  }
}

}  // namespace mr::sim
