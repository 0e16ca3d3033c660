#include "master/sim/studies/dolly_setups.h"

#include <algorithm>

#include "master/sim/traces/generate_measured.h"
#include "master/sim/traces/generate_swim.h"

namespace mr::sim {

namespace {

// Shares of jobs of 1-10, 11-50, 51-150, 151-500 and more tasks. Bin 1: Dolly (NSDI'13); the other bins are a guess.
constexpr double kShares[][5] = {{.82, .06, .08, .03, .01}, {.61, .10, .15, .12, .02}};
// An HDFS block; 13 s of computing.
constexpr uint64_t kTask = uint64_t{128} << 20;

constexpr Duration kHeartbeat = Seconds(3);  // Hadoop's at that time

// The first bins of kShares are small jobs.
constexpr size_t kSmallBins = 2;
constexpr uint32_t kManyToOne = 4;  // outputs that a task of a many-to-one edge reads: a guess

constexpr double kUsualPhases = 2;  // jobs with more phases come less often in proportion, so that the load stays

// Makes phases of equally many tasks, or fewer where a task reads several of the phase before.
JobModel Chain(double at, std::string name, uint32_t tasks, const DollyShape& shape) {
  JobModel job = MapReduce(at, std::move(name), tasks, tasks * kTask, 0, 0, tasks * kTask);
  for (uint32_t p = 1; p < shape.phases; ++p) {
    const uint32_t before = tasks;
    if (shape.edge == sched::EdgeKind::kManyToOne) tasks = std::max(1u, tasks / kManyToOne);
    StageModel stage{"phase" + std::to_string(p),
                     sched::SlotKind::kReduce,
                     tasks,
                     before * kTask,
                     tasks * kTask,
                     {{true, shape.edge, p - 1}},
                     {}};
    job.stages.push_back(std::move(stage));
  }
  return job;
}

JobModel OneJob(Rng& rng, DollyMix mix, uint32_t number, double at, const DollyShape& shape) {
  double u = rng.Uniform();
  size_t bin = 0;
  const double* shares = kShares[static_cast<size_t>(mix)];
  while (bin < 4 && u >= shares[bin]) u -= shares[bin++];
  const auto [maps, reduces] = SwimSizeIn(bin, rng);
  const std::string name = "d" + std::to_string(number);
  if (shape.phases > 0 && bin < kSmallBins) return Chain(at, name, maps, shape);
  return MapReduce(at, name, maps, maps * kTask, reduces, reduces * kTask, (reduces > 0 ? reduces : maps) * kTask);
}

}  // namespace

Experiment DollyCluster(const std::string& policies, uint64_t seed) {
  Experiment e;
  e.cluster.racks.push_back({});  // full bisection
  WorkerSpec worker;
  worker.slots.total = 12;
  e.cluster.workers.assign(150, worker);
  e.policies = policies;
  e.seed = seed;
  e.tasks.factors = GoogleFactors();
  e.offer_period = e.tasks.report_period = kHeartbeat;
  e.tasks.report_share = 0;
  return e;
}

Experiment DollyRun(DollyMix mix, uint32_t jobs, const std::string& policies, uint64_t seed, const DollyShape& shape) {
  Experiment e = DollyCluster(policies, seed);
  Rng rng = Rng::Stream(seed, "dolly");
  double at = 0;
  for (uint32_t j = 0; j < jobs; ++j) {
    if (j > 0) at += SwimGap(rng) * std::max(1.0, shape.phases / kUsualPhases);
    e.jobs.push_back(OneJob(rng, mix, j, at, shape));
  }
  return e;
}

Experiment WithoutStragglers(Experiment e) {
  for (float& f : e.tasks.factors) f = std::min(f, 1.0f);
  return e;
}

}  // namespace mr::sim
