#include "master/sim/calibrate/pairs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace mr::sim {

namespace {

constexpr size_t kBins = 24;  // 15 s times 2^23 is four years
constexpr uint64_t kLeastPairsOfBin = 50;
// Attempts of a stage on one worker that can be centred: centring takes 1/n of the covariance.
constexpr uint32_t kLeastOfCell = 10;

struct Sums {
  uint64_t n = 0, tails = 0;
  double value = 0, lag = 0, control = 0;  // control: expected sum of value
  double tail_control = 0;                 // expected number of tails
  void Add(const Sums& o) {
    n += o.n, tails += o.tails, value += o.value, lag += o.lag, control += o.control, tail_control += o.tail_control;
  }
};
using ByCluster = std::map<uint32_t, Sums>;

PairMean MeanOf(const ByCluster& clusters) {
  PairMean m;
  Sums all;
  for (const auto& [id, sums] : clusters) all.Add(sums);
  m.pairs = all.n;
  m.clusters = static_cast<uint32_t>(clusters.size());
  m.tail_pairs = all.tails;
  if (all.n == 0) return m;
  const auto n = static_cast<double>(all.n);
  m.control = all.control / n;
  m.value = (all.value - all.control) / n;
  m.tail = (static_cast<double>(all.tails) - all.tail_control) / n;
  double squares = 0, tail_squares = 0;
  for (const auto& [id, s] : clusters) {
    const auto k = static_cast<double>(s.n);
    const double off = s.value - s.control - k * m.value;
    const double tail_off = static_cast<double>(s.tails) - s.tail_control - k * m.tail;
    squares += off * off;
    tail_squares += tail_off * tail_off;
  }
  const double c = m.clusters > 1 ? static_cast<double>(m.clusters) / (m.clusters - 1) : 1;
  m.error = std::sqrt(c * squares) / n;
  m.tail_error = std::sqrt(c * tail_squares) / n;
  return m;
}

size_t BinOf(double lag) {
  if (lag < kFirstLag) return 0;
  return std::min(kBins - 1, static_cast<size_t>(std::ilogb(lag / kFirstLag)) + 1);
}

// The pairs of an attempt of one stage and one of another (or the same) on one machine, and on two.
class StagePair {
 public:
  StagePair(const Sample& sample, const SampleStage& a, const SampleStage& b) {
    for (uint32_t i = a.first; i < a.first + a.count; ++i) {
      const Residual& x = sample.attempts[i];
      if (x.worker == kUnnamed) continue;
      for (uint32_t j = &a == &b ? i + 1 : b.first; j < b.first + b.count; ++j) {
        const Residual& y = sample.attempts[j];
        if (y.worker == kUnnamed) continue;
        const double lag = x.start < 0 || y.start < 0 ? 0 : std::abs(x.start - y.start);
        const size_t bin = BinOf(lag);
        Sums& sums = x.worker == y.worker ? same_[bin][x.worker] : other_[bin];
        ++sums.n;
        sums.value += x.body * y.body;
        sums.lag += lag;
        sums.tails += x.r > kFar && y.r > kFar;
      }
    }
  }
  // Pairs on one machine count only where there are some on two to compare with.
  void AddTo(std::array<ByCluster, kBins>* bins) {
    for (size_t b = 0; b < kBins; ++b) {
      if (other_[b].n == 0) continue;
      for (auto& [worker, sums] : same_[b]) {
        const double share = static_cast<double>(sums.n) / static_cast<double>(other_[b].n);
        sums.control = share * other_[b].value;
        sums.tail_control = share * static_cast<double>(other_[b].tails);
        (*bins)[b][worker].Add(sums);
      }
    }
  }

 private:
  std::array<ByCluster, kBins> same_;
  std::array<Sums, kBins> other_;
};

}  // namespace

MachinePairs PairsOnMachines(const Sample& sample) {
  std::array<ByCluster, kBins> bins;
  if (sample.workers == 0) return {};
  bool starts = true;
  for (const Residual& x : sample.attempts) starts = starts && x.start >= 0;
  for (size_t a = 0; a < sample.stages.size(); ++a) {
    for (size_t b = a; b < sample.stages.size(); ++b) {
      if (!starts && sample.stages[a].job != sample.stages[b].job) continue;
      StagePair(sample, sample.stages[a], sample.stages[b]).AddTo(&bins);
    }
  }
  MachinePairs out;
  ByCluster all;
  for (const ByCluster& bin : bins) {
    Sums sum;
    for (const auto& [worker, sums] : bin) {
      all[worker].Add(sums);
      sum.Add(sums);
    }
    if (sum.n < kLeastPairsOfBin || !starts) continue;
    out.bins.push_back({sum.lag / static_cast<double>(sum.n), MeanOf(bin)});
  }
  out.all = MeanOf(all);
  if (!out.bins.empty()) out.span = out.bins.back().lag;
  return out;
}

PairMean PairsOfTasks(const Sample& sample) {
  // Copies the bodies, centred on the stage's attempts on one worker.
  std::vector<double> body(sample.attempts.size());
  std::vector<bool> used(sample.attempts.size());
  for (const SampleStage& stage : sample.stages) {
    std::map<uint32_t, std::pair<uint32_t, double>> cells;  // worker -> attempts, sum
    for (uint32_t i = stage.first; i < stage.first + stage.count; ++i) {
      auto& [n, sum] = cells[sample.attempts[i].worker];
      ++n;
      sum += sample.attempts[i].body;
    }
    const bool by_worker = stage.count >= kLeastOfCell * cells.size();
    for (uint32_t i = stage.first; i < stage.first + stage.count; ++i) {
      const auto& [n, sum] = cells[sample.attempts[i].worker];
      used[i] = sample.attempts[i].task != kUnnamed && (!by_worker || n >= kLeastOfCell);
      body[i] = sample.attempts[i].body - (by_worker ? sum / n : 0);
    }
  }
  ByCluster tasks;
  for (size_t a = 0; a < sample.stages.size(); ++a) {
    const SampleStage& first = sample.stages[a];
    if (first.workflow == kUnnamed) continue;
    std::map<uint32_t, uint32_t> at;  // task -> attempt in the first stage
    double sum_a = 0, n_a = 0, tails_a = 0;
    for (uint32_t i = first.first; i < first.first + first.count; ++i) {
      if (!used[i]) continue;
      at[sample.attempts[i].task] = i;
      sum_a += body[i];
      ++n_a;
      tails_a += sample.attempts[i].r > kFar;
    }
    for (size_t b = a + 1; b < sample.stages.size(); ++b) {
      const SampleStage& second = sample.stages[b];
      if (second.workflow != first.workflow || second.name != first.name || second.job == first.job) continue;
      std::map<uint32_t, Sums> same;
      Sums shared;
      double sum_b = 0, n_b = 0, tails_b = 0;
      for (uint32_t j = second.first; j < second.first + second.count; ++j) {
        if (!used[j]) continue;
        sum_b += body[j];
        ++n_b;
        tails_b += sample.attempts[j].r > kFar;
        const auto i = at.find(sample.attempts[j].task);
        if (i == at.end()) continue;
        Sums& sums = same[i->first];
        ++sums.n;
        sums.value += body[i->second] * body[j];
        sums.tails += sample.attempts[i->second].r > kFar && sample.attempts[j].r > kFar;
      }
      for (const auto& [task, sums] : same) shared.Add(sums);
      const double others = n_a * n_b - static_cast<double>(shared.n);
      if (others <= 0) continue;
      for (auto& [task, sums] : same) {
        const double share = static_cast<double>(sums.n) / others;
        sums.control = share * (sum_a * sum_b - shared.value);
        sums.tail_control = share * (tails_a * tails_b - static_cast<double>(shared.tails));
        tasks[task].Add(sums);
      }
    }
  }
  return MeanOf(tasks);
}

Decay DecayOf(const MachinePairs& pairs) {
  constexpr double kStep = 1.0905077326652577;  // 2^(1/8)
  constexpr double kBeyond = 64;                // times the record's span: no decay that it could show
  Decay best;
  std::vector<LagBin> bins;
  for (const LagBin& bin : pairs.bins) {
    if (bin.pairs.error > 0) bins.push_back(bin);
  }
  if (bins.size() < 3) return best;
  struct Try {
    double lasts, variance, squares;
  };
  std::vector<Try> tries;
  for (double lasts = kFirstLag; lasts < kBeyond * pairs.span; lasts *= kStep) {
    double xx = 0, xy = 0;
    for (const LagBin& bin : bins) {
      const double w = 1 / (bin.pairs.error * bin.pairs.error), x = std::exp(-bin.lag / lasts);
      xx += w * x * x;
      xy += w * x * bin.pairs.value;
    }
    const double a = xx > 0 ? xy / xx : 0;
    double squares = 0;
    for (const LagBin& bin : bins) {
      const double off = (bin.pairs.value - a * std::exp(-bin.lag / lasts)) / bin.pairs.error;
      squares += off * off;
    }
    tries.push_back({lasts, a, squares});
  }
  if (tries.empty()) return best;
  const auto least =
      std::min_element(tries.begin(), tries.end(), [](const Try& x, const Try& y) { return x.squares < y.squares; });
  // Bins that scatter more than their errors widen the interval.
  const double rise = std::max(1.0, least->squares / static_cast<double>(bins.size() - 2));
  best = {true, least->variance, least->lasts, least->lasts, least->lasts, true};
  for (const Try& t : tries) {
    if (t.squares > least->squares + rise) continue;
    best.low = std::min(best.low, t.lasts);
    best.high = std::max(best.high, t.lasts);
  }
  best.bounded = best.high < tries.back().lasts;
  return best;
}

}  // namespace mr::sim
