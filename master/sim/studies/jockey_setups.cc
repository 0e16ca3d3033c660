#include "master/sim/studies/jockey_setups.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "common/base/rng.h"

namespace mr::sim {

namespace {

constexpr double kZ90 = 1.2815515655;  // of a normal distribution
constexpr uint32_t kSamples = 100;     // samples of a stage's times
// Sigma of the logarithm of times inside a stage, a guess: a factor of 2.2 between median and 90th percentile. The rest
// of a job's spread is between stages, since its percentiles are over the tasks of all stages.
constexpr double kInStage = .6;
constexpr double kWait = .5;  // median seconds from a slot to the first byte: a guess
// Guesses: the share of a tree's stages that read a file, and the share of the others that read two stages.
constexpr double kFiles = .4, kJoins = .6;
constexpr double kLongest = 3;  // largest task time, in 90th percentiles: a guess

std::vector<float> Times(Rng& rng, double median, double sigma) {
  std::vector<float> times;
  for (uint32_t i = 0; i < kSamples; ++i)
    times.push_back(static_cast<float>(median * std::exp(sigma * StandardNormal(rng))));
  std::sort(times.begin(), times.end());
  return times;
}

// Draws the upstreams of each stage. One stage reads each stage but the last.
std::vector<std::vector<uint32_t>> Tree(Rng& rng, uint32_t stages) {
  std::vector<std::vector<uint32_t>> upstreams(stages);
  std::vector<uint32_t> unread;
  for (uint32_t s = 0; s < stages; ++s) {
    size_t reads = unread.empty() || rng.Uniform() < kFiles ? 0 : rng.Uniform() < kJoins ? 2 : 1;
    if (s + 1 == stages) reads = unread.size();
    for (; reads > 0 && !unread.empty(); --reads) {
      const size_t i = rng.Below(unread.size());
      upstreams[s].push_back(unread[i]);
      unread.erase(unread.begin() + static_cast<ptrdiff_t>(i));
    }
    std::sort(upstreams[s].begin(), upstreams[s].end());
    unread.push_back(s);
  }
  return upstreams;
}

std::vector<std::vector<uint32_t>> Chain(uint32_t stages) {
  std::vector<std::vector<uint32_t>> upstreams(stages);
  for (uint32_t s = 1; s < stages; ++s) upstreams[s] = {s - 1};
  return upstreams;
}

// Raises all times to one power, so that the tasks have this median and this 90th percentile.
void Bend(RunProfile* profile, double median, double p90) {
  std::vector<std::pair<float, double>> times;  // time, number of tasks with that time
  double all = 0;
  for (const StageRuns& stage : profile->stages) {
    for (const float seconds : stage.run) times.emplace_back(seconds, double{1.0} * stage.tasks / kSamples);
    all += stage.tasks;
  }
  std::sort(times.begin(), times.end());
  const auto quantile = [&](double share) {
    double seen = 0;
    for (const auto& [seconds, tasks] : times) {
      if ((seen += tasks) >= share * all) return static_cast<double>(seconds);
    }
    return static_cast<double>(times.back().first);
  };
  const double middle = quantile(.5), power = std::log(p90 / median) / std::log(quantile(.9) / middle);
  for (StageRuns& stage : profile->stages) {
    for (float& seconds : stage.run) {
      const double bent = median * std::pow(static_cast<double>(seconds) / middle, power);
      seconds = static_cast<float>(std::min(bent, kLongest * p90));
    }
  }
}

}  // namespace

double StandardNormal(Rng& rng) {
  // Box and Muller. The simulator promises equal bits only on one machine.
  const double u = 1 - rng.Uniform();
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * M_PI * rng.Uniform());
}

RunProfile JockeyJob(const JockeyShape& shape, uint64_t seed, bool chain) {
  Rng rng = Rng::Stream(seed, "job " + shape.name);
  const double spread = std::log(shape.p90 / shape.median) / kZ90, in_stage = std::min(spread, kInStage),
               between = std::sqrt(spread * spread - in_stage * in_stage);
  std::set<uint32_t> barriers;
  while (barriers.size() < shape.barriers) barriers.insert(1 + static_cast<uint32_t>(rng.Below(shape.stages - 1)));
  std::vector<double> weights;
  double sum = 0;
  for (uint32_t s = 0; s < shape.stages; ++s) sum += weights.emplace_back(std::exp(StandardNormal(rng)));
  const auto upstreams = chain ? Chain(shape.stages) : Tree(rng, shape.stages);
  RunProfile profile;
  for (uint32_t s = 0; s < shape.stages; ++s) {
    StageRuns stage;
    stage.name = "s" + std::to_string(s);
    stage.tasks = std::max(1u, static_cast<uint32_t>(std::lround(shape.tasks * weights[s] / sum)));
    const auto edge = barriers.contains(s) ? sched::EdgeKind::kAllToAll : sched::EdgeKind::kManyToOne;
    for (const uint32_t upstream : upstreams[s]) stage.inputs.push_back({true, edge, upstream});
    stage.run = Times(rng, shape.median * std::exp(between * StandardNormal(rng)), in_stage);
    stage.wait = Times(rng, kWait, .5);
    profile.stages.push_back(std::move(stage));
  }
  Bend(&profile, shape.median, shape.p90);
  return profile;
}

RunProfile AnotherDay(RunProfile profile, double sigma, uint64_t seed) {
  Rng rng = Rng::Stream(seed, "another day");
  for (StageRuns& stage : profile.stages) {
    const double factor = std::exp(sigma * StandardNormal(rng));
    for (float& seconds : stage.run) seconds = static_cast<float>(seconds * factor);
  }
  return profile;
}

}  // namespace mr::sim
