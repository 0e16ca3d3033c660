// Attempts drawn from known parameters, as a record would show them.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "common/base/rng.h"
#include "master/sim/traces/observation.h"

namespace mr::sim {

// One component of the factor (TaskModel in master/sim/engine/model.h).
struct Drawn {
  double sigma = 0, tail = 0, tail_alpha = 1.5, tail_cap = 20;
  double Log(Rng& rng) const {
    const double radius = std::sqrt(-2 * std::log(1 - rng.Uniform()));
    double log_factor = sigma * radius * std::cos(6.283185307179586 * rng.Uniform());
    if (rng.Uniform() < tail) log_factor += std::log(std::min(rng.Pareto(2, tail_alpha), tail_cap));
    return log_factor;
  }
};

struct Synthetic {
  Drawn machine, skew, luck;
  double lasts = 0;  // of a machine's factor; 0: for ever
  uint32_t jobs = 20, tasks = 100, workers = 200;
  double span = 0;       // starts are uniform over these seconds; 0: not recorded
  bool repeats = false;  // each job runs the same tasks again
  bool names_workers = true;
  bool own_workers = false;  // each job has workers of its own
  bool pinned = false;       // a task always runs on the same worker
  double bytes_spread = 0;   // sigma of log bytes; the time is proportional to the bytes
  uint64_t seed = 1;

  std::vector<ObservedStage> Draw() const {
    Rng rng(seed);
    struct Planned {
      double start;
      uint32_t job, task, worker;
    };
    std::vector<Planned> planned;
    for (uint32_t j = 0; j < jobs; ++j) {
      for (uint32_t t = 0; t < tasks; ++t) {
        const auto worker = pinned ? t % workers : static_cast<uint32_t>(rng.Below(workers));
        planned.push_back({span * rng.Uniform(), j, t, own_workers ? j * workers + worker : worker});
      }
    }
    std::stable_sort(planned.begin(), planned.end(),
                     [](const Planned& x, const Planned& y) { return x.start < y.start; });
    std::vector<ObservedStage> stages(jobs);
    std::map<uint32_t, std::pair<double, double>> machines;  // worker -> last start, log factor
    std::map<uint32_t, double> skews;
    const Drawn bytes{bytes_spread};
    for (const Planned& p : planned) {
      const auto [at, fresh] = machines.try_emplace(p.worker, p.start, 0.0);
      const bool ended = lasts > 0 && rng.Uniform() >= std::exp(-(p.start - at->second.first) / lasts);
      if (fresh || ended) at->second.second = machine.Log(rng);
      at->second.first = p.start;
      const auto [own, first] = skews.try_emplace(repeats ? p.task : p.job * tasks + p.task, 0.0);
      if (first) own->second = skew.Log(rng);
      const double log_bytes = bytes.Log(rng);
      ObservedStage& stage = stages[p.job];
      stage.job = "job" + std::to_string(p.job);
      stage.name = "map";
      if (repeats) stage.workflow = "daily";
      ObservedAttempt& a = stage.attempts.emplace_back();
      a.task = std::to_string(p.task);
      if (names_workers) a.worker = std::to_string(p.worker);
      if (span > 0) a.start = p.start;
      a.seconds = 100 * std::exp(at->second.second + own->second + log_bytes + luck.Log(rng));
      if (bytes_spread > 0) a.bytes = static_cast<uint64_t>(1e9 * std::exp(log_bytes));
    }
    return stages;
  }
};

}  // namespace mr::sim
