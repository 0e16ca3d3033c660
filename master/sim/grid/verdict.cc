#include "master/sim/grid/verdict.h"

#include <cmath>
#include <limits>

#include "master/sim/grid/student.h"

namespace mr::sim {

namespace {

constexpr double kWrong = .05;  // P(a correct grid has a wrong cell): the usual 95 %

using Value = double SeedRun::OfBin::*;

Comparison Compare(const std::vector<SeedRun>& ours, const std::vector<std::vector<SeedRun>>& references, size_t bin,
                   Value value, double fewest, double inside, double limit) {
  Comparison best;
  for (const SeedRun& run : ours) best.jobs += run.bins[bin].jobs;
  if (best.jobs == 0) return best;
  for (size_t r = 0; r < references.size(); ++r) {
    std::vector<double> mine, theirs;
    for (size_t s = 0; s < ours.size(); ++s) {
      const auto &a = ours[s].bins[bin], &b = references[r][s].bins[bin];
      if (a.jobs == 0 || b.jobs == 0) continue;
      mine.push_back(a.*value);
      theirs.push_back(b.*value);
    }
    if (mine.empty()) continue;
    // The better reference is the one to which our ratio is larger: our own times are the same.
    const Ratio ratio = PairedRatio(mine, theirs, inside);
    if (best.ratio.pairs == 0 || ratio.value > best.ratio.value) best.ratio = ratio, best.reference = r;
  }
  best.judged = best.jobs >= fewest && best.ratio.pairs >= 2;
  best.fails = best.judged && best.ratio.low > limit;
  return best;
}

std::vector<double> SlotSeconds(const std::vector<SeedRun>& runs) {
  std::vector<double> seconds;
  seconds.reserve(runs.size());
  for (const SeedRun& run : runs) seconds.push_back(run.slot_seconds);
  return seconds;
}

}  // namespace

Ratio PairedRatio(const std::vector<double>& ours, const std::vector<double>& theirs, double inside) {
  Ratio ratio;
  const size_t n = ours.size();
  ratio.pairs = static_cast<uint32_t>(n);
  if (n == 0) return ratio;
  std::vector<double> logs;
  double sum = 0;
  for (size_t i = 0; i < n; ++i) {
    logs.push_back(std::log(ours[i] / theirs[i]));
    sum += logs.back();
  }
  const double mean = sum / static_cast<double>(n);
  ratio.value = std::exp(mean);
  if (n == 1) {
    ratio.high = std::numeric_limits<double>::infinity();
    return ratio;
  }
  double squares = 0;
  for (const double x : logs) squares += (x - mean) * (x - mean);
  const double error = std::sqrt(squares / static_cast<double>(n - 1) / static_cast<double>(n));
  const double half = error * StudentBound(inside, static_cast<uint32_t>(n - 1));
  ratio.low = std::exp(mean - half);
  ratio.high = std::exp(mean + half);
  return ratio;
}

CellVerdict Judge(const std::vector<SeedRun>& ours, const std::vector<std::vector<SeedRun>>& references, double load,
                  size_t cells, const GridLimits& limits) {
  const double inside = 1 - kWrong / static_cast<double>(cells);
  CellVerdict v;
  for (size_t b = 0; b < kBinNames.size(); ++b) {
    v.mean[b] = Compare(ours, references, b, &SeedRun::OfBin::mean, limits.jobs_of_mean, inside, limits.completion);
    v.p95[b] = Compare(ours, references, b, &SeedRun::OfBin::p95, limits.jobs_of_p95, inside, limits.completion);
    v.fails = v.fails || v.mean[b].fails || v.p95[b].fails;
  }
  for (size_t s = 0; s < ours.size(); ++s) {
    v.failed_jobs += ours[s].failed - references.front()[s].failed;
    v.deadlines += ours[s].deadlines;
    v.late += ours[s].late;
    v.reference_late += references.front()[s].late;
  }
  if (v.deadlines > 0) v.late /= v.deadlines, v.reference_late /= v.deadlines;
  for (const std::vector<SeedRun>& reference : references) {
    v.slot_time.push_back(PairedRatio(SlotSeconds(ours), SlotSeconds(reference), inside));
  }
  v.slot_time_limit = load > limits.half ? limits.slot_time : limits.idle_slot_time;
  v.slot_time_fails = v.slot_time.front().value > v.slot_time_limit;
  v.fails = v.fails || v.slot_time_fails || v.failed_jobs > 0;
  return v;
}

}  // namespace mr::sim
