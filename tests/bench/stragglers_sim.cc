// The benchmark's jobs on a modelled cluster with the same workers and policies.
#include <algorithm>

#include "master/sim/engine/first_offer.h"
#include "master/sim/engine/simulation.h"
#include "tests/bench/stragglers.h"

namespace mr::bench {
namespace {

constexpr uint64_t kSeeds = 25;
// Bytes of a task of given time; they only count its progress.
constexpr uint64_t kBytes = 1'000'000;

sim::Experiment Cluster(const std::string& policies, uint32_t slots, uint64_t seed) {
  sim::Experiment e;
  e.policies = policies;
  e.seed = seed;
  e.tasks = sim::Exact();
  // Workers look every 20 ms and send what moved by 5 % (worker/daemon/progress.h). Steps of the shortest attempts here
  // take longer than this period.
  e.tasks.report_period = Millis(50);
  e.cluster.racks.push_back({"r", 0, 0});
  for (const double factor : kFactors) {
    sim::WorkerSpec worker;
    worker.slots = {2 * slots, slots, slots};
    worker.speed = 1 / factor;
    e.cluster.workers.push_back(worker);
  }
  return e;
}

double Seconds(sim::Experiment experiment) {
  sim::OfferFromAnyWorker(&experiment);
  sim::Simulation run(std::move(experiment));
  const std::string wrong = run.Run(nullptr);
  return wrong.empty() && run.jobs()[0].succeeded ? run.jobs()[0].ended : -1;
}

template <class Make>
double MedianOfSeeds(Make make) {
  std::vector<double> seconds;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) seconds.push_back(Seconds(make(seed)));
  std::sort(seconds.begin(), seconds.end());
  return seconds[kSeeds / 2];
}

}  // namespace

double PredictNaps(const std::string& policies, double around_seconds) {
  return around_seconds + MedianOfSeeds([&](uint64_t seed) {
           sim::Experiment e = Cluster(policies, kNapSlots, seed);
           sim::JobModel job =
               sim::MapReduce(0, "naps", kNapMaps, kBytes * kNapMaps, kNapReduces, kBytes * kNapReduces, 1);
           job.stages[0].durations.assign(kNapMaps, kNapMapSeconds);
           job.stages[1].naps = kNapSteps;
           job.stages[1].longest_nap = 2 * kNapReduceSeconds / kNapSteps;
           e.jobs.push_back(std::move(job));
           return e;
         });
}

double PredictWords(const std::string& policies, const Calibration& from, double map_bytes, int maps, int reduces) {
  const double map_seconds = from.map_seconds * map_bytes / from.map_bytes;
  return from.around_seconds + MedianOfSeeds([&](uint64_t seed) {
           sim::Experiment e = Cluster(policies, 1, seed);
           sim::JobModel job =
               sim::MapReduce(0, "words", static_cast<uint32_t>(maps), static_cast<uint64_t>(map_bytes * maps),
                              static_cast<uint32_t>(reduces), kBytes * static_cast<uint64_t>(reduces), 1);
           job.stages[0].durations.assign(static_cast<size_t>(maps), static_cast<float>(map_seconds));
           job.stages[1].durations.assign(static_cast<size_t>(reduces), static_cast<float>(from.reduce_seconds));
           e.jobs.push_back(std::move(job));
           return e;
         });
}

}  // namespace mr::bench
