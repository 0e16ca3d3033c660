#include "master/sim/dolly_setups.h"

#include <algorithm>
#include <cmath>

#include "master/sim/generate_measured.h"

namespace mr::sim {

namespace {

// Shares of jobs of 1-10, 11-50, 51-150, 151-500, more tasks: papers.md 1.4, "For a Dolly run use".
constexpr double kShares[][5] = {{.82, .06, .08, .03, .01}, {.61, .10, .15, .12, .02}};
// Sizes in a bin: log-uniform, a guess; in the last one Pareto with the index of SWIM's tail, at most 5,000 tasks.
constexpr double kLeast[] = {1, 11, 51, 151, 501}, kMost[] = {10, 50, 150, 500, 5000}, kSizeTail = .75;
// SWIM's FB-2010_0, the trace nearest in time to the paper's (papers.md 1.4): seconds between submits, their
// coefficient of variation, and the share of jobs without reduces.
constexpr double kBetween = 3.5, kBursts = 6.7, kOnlyMaps = .34;
// Jobs of the first two bins: 128 MiB a task, so 13 s of computing. Others twice that, a guess: the smallest 90 % of
// jobs are to hold 6 % of the resources of the Facebook-like mix (papers.md 1.4), more than that by tasks alone.
constexpr uint64_t kSmallTask = uint64_t{128} << 20, kLargeTask = 2 * kSmallTask;
constexpr size_t kSmallBins = 2;
// 91 % of jobs of 10 tasks or fewer have as many tasks in each phase (papers.md 1.1); of larger ones an eighth are
// reduces, a guess.
constexpr uint32_t kReducesOf[] = {2, 8, 8, 8, 8};

constexpr Duration kHeartbeat = Seconds(3);  // Hadoop's of the paper's time

double Between(Rng& rng) {
  const double squared = kBursts * kBursts;
  const double p = .5 * (1 + std::sqrt((squared - 1) / (squared + 1)));
  return rng.Exponential(kBetween / (2 * (rng.Uniform() < p ? p : 1 - p)));
}

JobModel OneJob(Rng& rng, DollyMix mix, uint32_t number, double at) {
  double u = rng.Uniform();
  size_t bin = 0;
  const double* shares = kShares[static_cast<size_t>(mix)];
  while (bin < 4 && u >= shares[bin]) u -= shares[bin++];
  const double size = bin == 4 ? rng.Pareto(kLeast[4], kSizeTail)
                               : kLeast[bin] * std::exp(rng.Uniform() * std::log((kMost[bin] + 1) / kLeast[bin]));
  const auto tasks = static_cast<uint32_t>(std::min(size, kMost[bin]));
  const uint32_t reduces = rng.Uniform() < kOnlyMaps ? 0 : tasks / kReducesOf[bin];
  const uint64_t each = bin < kSmallBins ? kSmallTask : kLargeTask;
  return MapReduce(at, "d" + std::to_string(number), tasks - reduces, (tasks - reduces) * each, reduces, reduces * each,
                   (reduces > 0 ? reduces : tasks) * each);
}

}  // namespace

Experiment DollyRun(DollyMix mix, uint32_t jobs, const std::string& policies, uint64_t seed) {
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
  Rng rng = Rng::Stream(seed, "dolly");
  double at = 0;
  for (uint32_t j = 0; j < jobs; ++j) {
    if (j > 0) at += Between(rng);
    e.jobs.push_back(OneJob(rng, mix, j, at));
  }
  return e;
}

Experiment WithoutStragglers(Experiment e) {
  for (float& f : e.tasks.factors) f = std::min(f, 1.0f);
  return e;
}

}  // namespace mr::sim
