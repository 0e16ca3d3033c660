// The load of the shuffles benchmark on a modelled cluster with the same links, slow periods and policies.
#include <algorithm>

#include "master/sim/engine/simulation.h"
#include "tests/bench/report.h"
#include "tests/bench/shuffles.h"

namespace mr::bench {
namespace {

constexpr uint64_t kSeeds = 10;
// Bytes that a map of the model reads: so few that reading takes no time, as each worker has the files on its disk.
constexpr double kModelBytes = 1000;

double MeanSeconds(sim::Experiment experiment) {
  sim::Simulation run(std::move(experiment));
  const std::string wrong = run.Run(nullptr);
  if (!wrong.empty()) Die("the simulation stopped " + wrong);
  double sum = 0;
  for (const sim::JobResult& job : run.jobs()) sum += job.ended - job.submitted;
  return sum / static_cast<double>(run.jobs().size());
}

}  // namespace

double PredictShuffles(const ShuffleLoad& load, const std::string& policies, const ShuffleCosts& costs) {
  double sum = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    sim::Experiment e;
    e.policies = policies;
    e.seed = seed;
    e.tasks = sim::Steady(sim::TaskModel{});
    e.tasks.map_cost = costs.map / kModelBytes;
    e.tasks.sort_cost = 0;
    e.tasks.reduce_cost = costs.reduce;
    e.tasks.read_disk = 0;
    e.cluster.racks.push_back({"r", 0, 0});
    for (int w = 0; w < kShuffleWorkers; ++w) {
      sim::WorkerSpec worker;
      worker.slots = {kShuffleSlots, kShuffleSlots, kShuffleSlots};
      worker.up = worker.down = kLinkRate;
      worker.cores = 1;  // the quota, which both slots share
      e.cluster.workers.push_back(worker);
    }
    for (const ShuffleJob& job : load.jobs) {
      const auto read = static_cast<uint64_t>(kModelBytes * job.maps);
      const auto shuffled = static_cast<uint64_t>(costs.shuffled * kMapBytes * job.maps);
      sim::JobModel model = sim::MapReduce(job.at, "shuffle", static_cast<uint32_t>(job.maps), read,
                                           static_cast<uint32_t>(job.reduces), shuffled, shuffled);
      model.stages[0].preferred.assign(static_cast<size_t>(job.maps), {});  // no worker is preferred for a local file
      e.jobs.push_back(std::move(model));
    }
    for (const SlowSpell& spell : load.spells) {
      e.faults.faults.push_back(
          {sim::FaultKind::kContention, spell.at, static_cast<uint32_t>(spell.worker), spell.lasts, kSpellFactor});
    }
    sum += costs.around + MeanSeconds(std::move(e));
  }
  return sum / static_cast<double>(kSeeds);
}

}  // namespace mr::bench
