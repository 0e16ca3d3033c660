#include "master/sim/replay/resample.h"

#include <algorithm>
#include <cmath>

#include "common/base/digest.h"

namespace mr::sim {

namespace {

constexpr size_t kFewRecords = 3;  // of others: fewer say too little about a stage (a guess)
constexpr double kMostScale = 16;  // bound for the scale by bytes, since a task has costs that do not depend on them
constexpr double kSameJob = 2;     // times of two runs with equal bytes differ by at most this factor (a guess)
constexpr double kUnknownSpread = .2;  // of logarithms, where a history has no stage with enough tasks (a guess)

double MiddleOf(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Returns the slope of log(seconds) over log(bytes), from 0 to 1; 0 where bytes are equal or not known.
double SlopeOf(const std::vector<std::pair<double, double>>& bytes_seconds) {
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (const auto& [bytes, seconds] : bytes_seconds) {
    if (bytes <= 0 || seconds <= 0) continue;
    const double a = std::log(bytes), b = std::log(seconds);
    n += 1, x += a, y += b, xx += a * a, xy += a * b;
  }
  if (n < static_cast<double>(kFewRecords) + 1) return 0;
  const double variance = xx / n - (x / n) * (x / n), covariance = xy / n - (x / n) * (y / n);
  constexpr double kLeastVariance = .01;  // bytes differ by a tenth: less says nothing (a guess)
  return variance < kLeastVariance ? 0 : std::clamp(covariance / variance, 0.0, 1.0);
}

// A standard normal number, by the sum of twelve uniform ones (Irwin-Hall), which every machine computes alike.
double Normal(Rng* rng) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += rng->Uniform();
  return sum;
}

}  // namespace

size_t Resampler::GroupOf(const StageModel& stage, std::vector<Group>* groups) const {
  std::vector<double> seconds, bytes;
  for (uint32_t t = 0; t < stage.tasks; ++t) {
    seconds.push_back(stage.durations[t]);
    bytes.push_back(static_cast<double>(stage.BytesOf(t)));
  }
  const Group own = seconds.empty() ? Group{} : Group{MiddleOf(seconds), MiddleOf(bytes)};
  for (size_t g = 0; g < groups->size(); ++g) {
    const Group& other = (*groups)[g];
    const double scale = own.bytes > 0 && other.bytes > 0 ? own.bytes / other.bytes : 1;
    const double least = std::min(1.0, scale) / kSameJob * other.seconds;
    if (own.seconds >= least && own.seconds <= std::max(1.0, scale) * kSameJob * other.seconds) return g;
  }
  groups->push_back(own);
  return groups->size() - 1;
}

Resampler::Resampler(const std::vector<const HistoryModel*>& models) : models_(models) {
  std::map<std::pair<std::string, std::string>, std::vector<Group>> groups;
  for (size_t m = 0; m < models.size(); ++m) {
    const HistoryModel& model = *models[m];
    for (size_t j = 0; j < model.as_it_was.jobs.size(); ++j) {
      const JobModel& job = model.as_it_was.jobs[j];
      for (size_t s = 0; s < job.stages.size(); ++s) {
        const StageModel& stage = job.stages[s];
        const size_t group = GroupOf(stage, &groups[{job.name, stage.name}]);
        groups_[{m, j, s}] = group;
        Pool& pool = pools_[{job.name, stage.name, group}];
        for (uint32_t t = 0; t < stage.tasks; ++t) {
          const uint32_t worker = model.ran_on[j][s][t];
          const double speed = worker == kUnknownWorker ? 1 : model.speeds[worker].speed();
          const double seconds = stage.durations[t];
          pool.records.push_back(
              {m, j, t, worker, seconds / speed, seconds, stage.shares[t], static_cast<double>(stage.BytesOf(t))});
        }
      }
    }
  }
  for (auto& [key, pool] : pools_) {
    std::vector<std::pair<double, double>> points;
    std::vector<double> seconds;
    for (const Record& record : pool.records) {
      points.emplace_back(record.bytes, record.seconds);
      if (record.seconds > 0) seconds.push_back(record.seconds);
    }
    pool.by_bytes = SlopeOf(points);
    if (seconds.size() <= kFewRecords) continue;
    const double median = MiddleOf(seconds);
    for (const double s : seconds) spread_.push_back(std::log(s / median));
  }
}

std::vector<double> Resampler::DrawSpeeds(const HistoryModel& history, Rng* rng) const {
  std::vector<double> speeds;
  for (const SpeedEstimate& estimate : history.speeds) {
    const bool real = rng->Uniform() < estimate.trust;
    const double noise = estimate.error * Normal(rng);  // drawn in any case, so that others have the same luck
    speeds.push_back(real ? std::exp(estimate.log + noise) : 1);
  }
  return speeds;
}

void Resampler::DrawStage(size_t job, size_t index, const std::string& name, StageModel* stage, Drawn* drawn) const {
  const Pool& pool = pools_.at({name, stage->name, groups_.at({drawn->model, job, index})});
  for (uint32_t t = 0; t < stage->tasks; ++t) {
    const auto own = [&](const Record& r) { return r.model == drawn->model && r.job == job && r.task == t; };
    float& seconds = stage->durations[t];
    if (pool.records.size() <= kFewRecords) {
      const double noise =
          spread_.empty() ? kUnknownSpread * Normal(&drawn->rng) : spread_[drawn->rng.Below(spread_.size())];
      seconds = static_cast<float>(seconds * std::exp(noise));
      continue;
    }
    const Record* other = nullptr;
    do other = &pool.records[drawn->rng.Below(pool.records.size())];
    while (own(*other));
    const bool same_workers = other->model == drawn->model && other->worker != kUnknownWorker;
    const double time = same_workers ? other->measured * drawn->speeds[other->worker] : other->seconds;
    const double bytes = static_cast<double>(stage->BytesOf(t));
    const double scale = bytes > 0 && other->bytes > 0 ? std::pow(bytes / other->bytes, pool.by_bytes) : 1;
    seconds = static_cast<float>(time * std::clamp(scale, 1 / kMostScale, kMostScale));
    stage->shares[t] = other->shares;
  }
}

Experiment Resampler::Draw(size_t model, uint64_t draw) const {
  const HistoryModel& history = *models_[model];
  Experiment e = history.as_it_was;
  Drawn drawn{model, {}, Rng::Stream(MixHash(MixHash(e.seed, model), draw), "resample")};
  e.seed = drawn.rng.Next();
  drawn.speeds = DrawSpeeds(history, &drawn.rng);
  for (size_t w = 0; w < drawn.speeds.size(); ++w) e.cluster.workers[w].speed = drawn.speeds[w];
  for (size_t j = 0; j < e.jobs.size(); ++j) {
    for (size_t s = 0; s < e.jobs[j].stages.size(); ++s) {
      StageModel& stage = e.jobs[j].stages[s];
      // Further attempts: at the speeds of this draw, too.
      for (size_t i = stage.tasks; i < stage.durations.size(); ++i) {
        const uint32_t worker = history.ran_on[j][s][i];
        if (worker == kUnknownWorker) continue;
        stage.durations[i] *= static_cast<float>(drawn.speeds[worker] / history.speeds[worker].speed());
      }
      DrawStage(j, s, e.jobs[j].name, &stage, &drawn);
    }
  }
  return e;
}

}  // namespace mr::sim
