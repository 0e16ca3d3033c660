#include "master/sim/studies/mantri_setups.h"

namespace mr::sim {

namespace {
constexpr uint64_t kBlock = uint64_t{128} << 20;
}  // namespace

Experiment LossyOutputs(const std::string& policies, double loss, uint64_t seed) {
  Experiment e;
  e.policies = policies;
  e.seed = seed;
  e.tasks.tail = 0;
  for (const char* rack : {"a", "b", "c", "d"}) e.cluster.racks.push_back({rack, 0, 0});
  for (uint32_t w = 0; w < 40; ++w) {
    WorkerSpec worker;
    worker.rack = w % 4;
    worker.slots.total = 4;
    // Two of forty workers have half of the losses.
    worker.loss = w < 2 ? loss / 2 * 20 : loss / 2 * 40 / 38;
    e.cluster.workers.push_back(worker);
  }
  for (uint32_t j = 0; j < 20; ++j) {
    e.jobs.push_back(
        MapReduce(60.0 * j, "j" + std::to_string(j), 80, 80 * kBlock, 200, 80 * kBlock / 16, 80 * kBlock / 16));
  }
  return e;
}

Experiment UnevenRacks(const std::string& policies, uint64_t seed) {
  Experiment e;
  e.policies = policies;
  e.seed = seed;
  e.tasks = Exact();
  constexpr uint32_t kHosts = 10, kMaps = 100;
  for (const char* rack : {"a", "b", "c"}) {
    e.cluster.racks.push_back({rack, kHosts * kGigabit / 8, kHosts * kGigabit / 8});
  }
  for (uint32_t w = 0; w < 3 * kHosts; ++w) {
    WorkerSpec worker;
    worker.rack = w / kHosts;
    worker.slots.total = 8;
    e.cluster.workers.push_back(worker);
  }
  JobModel job = MapReduce(0, "j", kMaps, kMaps * kBlock / 4, 60, 4'000'000'000, 4'000'000);
  for (uint32_t t = 0; t < kMaps; ++t) {
    const uint32_t rack = t % 10 < 8 ? 0 : t % 10 - 7;
    job.stages[0].preferred.push_back({rack * kHosts + t / 10 % kHosts});
  }
  e.jobs.push_back(std::move(job));
  return e;
}

}  // namespace mr::sim
