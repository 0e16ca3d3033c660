// Measurements of two recorded workloads, and jobs drawn from them. They replace the recorded files, which need not be
// present.
//
// A phase is the tasks of one kind of one job, with the durations d in order. It has a width n, a median m, and a
// *shape*: d / m at the quantiles kAt (linear between order statistics). The last is max / median, the straggler factor
// of Mantri and Dolly.
//
// A drawn phase of n tasks takes the quantiles (i + u) / n of its shape, with u uniform. The first and the last are at
// 0 and 1, and the order is random. So max / median over phases is distributed as over the shapes.
#include "master/sim/traces/generate_measured.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace mr::sim {

namespace {

constexpr double kAt[] = {0, .1, .25, .5, .75, .9, .95, .99, 1};
constexpr size_t kPoints = std::size(kAt);

struct Shape {
  double at[kPoints];
};

struct MeasuredPhase {
  uint32_t tasks = 0;         // 0: no such phase
  double median = 0;          // seconds
  double copy = 0, sort = 0;  // median shares of a reduce's time
  uint64_t bytes = 0;         // median input bytes of a task (maps: read, reduces: shuffled)
  Shape shape{};
};

// Rumen's mumak19 (Hadoop, 21 April 2009, 1,536 nodes): the 18 jobs with a successful task, maps then reduces, the
// first success of each task. Max / median over the 19 phases of 20 tasks or more: p50 2.0, p75 3.35, p90 4.6, largest
// 32. Gaps: mean 98.6 s, coefficient of variation 2.05. One row is one job, so the mix of widths is the record's too: 1
// to 2,879 tasks; 13 of 33 phases have one task.
constexpr MeasuredPhase kMumak[][2] = {
    {{20, 3.72, 0.000, 0.000, 100962, {0.756, 0.87, 0.919, 1, 1.1, 1.62, 2.36, 4.7, 5.29}},
     {1, 83.78, 0.871, 0.004, 705622, {1, 1, 1, 1, 1, 1, 1, 1, 1}}},
    {{3, 6.747, 0.000, 0.000, 36, {0.724, 0.779, 0.862, 1, 1.6, 1.97, 2.09, 2.18, 2.21}},
     {1, 32.34, 0.805, 0.003, 233, {1, 1, 1, 1, 1, 1, 1, 1, 1}}},
    {{131, 27.96, 0.000, 0.000, 29991531, {0.356, 0.409, 0.603, 1, 1.41, 1.66, 1.92, 2.39, 2.7}},
     {47, 96.19, 0.874, 0.005, 4422289, {0.503, 0.994, 0.996, 1, 1, 1, 1.01, 1.09, 1.16}}},
    {{20, 5.402, 0.000, 0.000, 100962, {0.582, 0.641, 0.68, 1, 1.57, 3.66, 6.91, 27.3, 32.4}},
     {1, 208, 0.956, 0.003, 821560, {1, 1, 1, 1, 1, 1, 1, 1, 1}}},
    {{35, 11.74, 0.000, 0.000, 1491257, {0.785, 0.821, 0.854, 1, 1.29, 2.66, 3.03, 3.39, 3.54}},
     {101, 82.31, 0.814, 0.004, 841370, {0.593, 0.992, 0.996, 1, 1.19, 1.19, 1.2, 1.38, 1.61}}},
    {{1106, 112.4, 0.000, 0.000, 134348801, {0.428, 0.577, 0.859, 1, 1.14, 1.43, 1.64, 2.02, 2.18}}, {}},
    {{2879, 99.47, 0.000, 0.000, 134348801, {0.474, 0.846, 0.968, 1, 1.13, 1.17, 1.17, 1.29, 1.74}}, {}},
    {{101, 7.573, 0.000, 0.000, 1309, {0.883, 0.931, 0.965, 1, 1.04, 1.1, 1.6, 2.71, 3.32}},
     {1, 88.69, 0.786, 0.001, 120068, {1, 1, 1, 1, 1, 1, 1, 1, 1}}},
    {{1, 6.803, 0.000, 0.000, 0, {1, 1, 1, 1, 1, 1, 1, 1, 1}},
     {500, 1355, 0.007, 0.000, 69, {0.823, 0.987, 0.999, 1, 1.01, 1.03, 1.05, 1.75, 4.43}}},
    {{500, 1280, 0.000, 0.000, 0, {0.824, 0.985, 0.99, 1, 1.01, 1.03, 1.05, 1.72, 1.89}},
     {1, 1827, 0.993, 0.000, 40293, {1, 1, 1, 1, 1, 1, 1, 1, 1}}},
    {{1, 3.099, 0.000, 0.000, 0, {1, 1, 1, 1, 1, 1, 1, 1, 1}}, {}},
    {{20, 3.251, 0.000, 0.000, 100962, {0.904, 0.932, 0.977, 1, 1.02, 1.04, 1.06, 1.09, 1.09}},
     {1, 47.93, 0.795, 0.008, 705622, {1, 1, 1, 1, 1, 1, 1, 1, 1}}},
    {{1, 2.941, 0.000, 0.000, 0, {1, 1, 1, 1, 1, 1, 1, 1, 1}},
     {500, 1307, 0.010, 0.000, 69, {0.815, 0.986, 0.988, 1, 1.01, 1.03, 1.06, 1.77, 1.88}}},
    {{1, 2.811, 0.000, 0.000, 0, {1, 1, 1, 1, 1, 1, 1, 1, 1}},
     {500, 1358, 0.006, 0.000, 0, {0.822, 0.987, 0.989, 1, 1.01, 1.02, 1.06, 1.76, 1.86}}},
    {{500, 1277, 0.000, 0.000, 0, {0.815, 0.984, 0.992, 1, 1.01, 1.03, 1.04, 1.58, 1.92}},
     {1, 1879, 0.994, 0.000, 40295, {1, 1, 1, 1, 1, 1, 1, 1, 1}}},
    {{1, 2.909, 0.000, 0.000, 0, {1, 1, 1, 1, 1, 1, 1, 1, 1}},
     {500, 1375, 0.017, 0.000, 0, {0.802, 0.986, 0.987, 1, 1.01, 1.04, 1.31, 1.72, 3.38}}},
    {{1, 4.852, 0.000, 0.000, 0, {1, 1, 1, 1, 1, 1, 1, 1, 1}},
     {500, 1307, 0.009, 0.000, 69, {0.815, 0.983, 0.988, 1, 1.01, 1.03, 1.04, 1.73, 1.91}}},
    {{329, 11.12, 0.000, 0.000, 1497863, {0.842, 0.939, 0.969, 1, 1.04, 1.08, 1.14, 1.48, 2.42}},
     {99, 97.66, 0.290, 0.012, 8122929, {0.828, 0.994, 0.997, 1, 1.09, 1.65, 1.67, 1.97, 2}}},
};

// Google's cell of 2011, the first 6,000 jobs of the Hawk and Eagle part, in classes of width, since wide jobs have
// longer tails. Each class has quantiles of m and ten shapes. Its jobs in order of max / median form ten equal parts; a
// shape is the median of a part's jobs at each quantile. Max / median of the 726 jobs of 20 tasks or more: p50 1.2, p75
// 1.65, p90 5.3, largest 134. Widths: p75 3, p80 8, p90 24, p95 99, p99 968, largest 4,950. Gaps: mean 14.5 s,
// coefficient of variation 20.8. m and shape are drawn independently inside a class.
// kWidths: quantiles .70, .71, .. 1; below .70 a job has one task.
constexpr double kWidthFrom = .70, kWidths[] = {1,  2,  2,  2,  2,  3,  4,  5,  6,  7,  8,   9,   10,  10,  12,  13,
                                                15, 18, 20, 22, 24, 34, 43, 58, 87, 99, 190, 392, 923, 968, 4950};
constexpr double kOver[] = {0, .1, .25, .4, .5, .6, .75, .85, .9, .95, .99, 1};
struct WidthClass {
  uint32_t to;                      // largest width of the class
  double median[std::size(kOver)];  // seconds
  Shape shapes[10];
};
constexpr WidthClass kGoogle[] = {
    {1, {11.45, 22.72, 42.84, 73.24, 102.7, 157.2, 341.6, 831.5, 1361, 2208, 1.053e+04, 3.261e+05}, {}},
    {19,
     {28.74, 55.11, 63.33, 78.93, 92.32, 115.6, 233.5, 455.3, 970.5, 1376, 8718, 6.592e+04},
     {{0.999, 1, 1, 1, 1, 1, 1, 1, 1},
      {0.996, 0.997, 0.999, 1, 1, 1, 1, 1, 1},
      {0.994, 0.995, 0.997, 1, 1, 1, 1, 1.01, 1.01},
      {0.991, 0.993, 0.996, 1, 1, 1.01, 1.01, 1.01, 1.01},
      {0.984, 0.988, 0.993, 1, 1.01, 1.01, 1.01, 1.01, 1.01},
      {0.979, 0.984, 0.99, 1, 1.01, 1.02, 1.02, 1.02, 1.02},
      {0.972, 0.979, 0.987, 1, 1.02, 1.03, 1.03, 1.03, 1.03},
      {0.959, 0.971, 0.984, 1, 1.03, 1.04, 1.05, 1.05, 1.05},
      {0.934, 0.955, 0.973, 1, 1.05, 1.1, 1.11, 1.13, 1.13},
      {0.883, 0.907, 0.937, 1, 1.16, 1.27, 1.33, 1.39, 1.41}}},
    {50,
     {24.32, 63.71, 79.62, 102.9, 159.1, 207.6, 329.5, 713.5, 1307, 2432, 1.764e+04, 8.136e+04},
     {{0.994, 0.996, 0.998, 1, 1, 1, 1, 1.01, 1.01},
      {0.988, 0.993, 0.996, 1, 1, 1.01, 1.01, 1.01, 1.01},
      {0.975, 0.99, 0.994, 1, 1.01, 1.02, 1.02, 1.03, 1.03},
      {0.936, 0.978, 0.988, 1, 1.02, 1.04, 1.05, 1.05, 1.05},
      {0.931, 0.957, 0.981, 1, 1.03, 1.05, 1.08, 1.09, 1.09},
      {0.874, 0.932, 0.959, 1, 1.07, 1.14, 1.15, 1.16, 1.16},
      {0.886, 0.935, 0.96, 1, 1.1, 1.19, 1.21, 1.23, 1.24},
      {0.873, 0.909, 0.954, 1, 1.12, 1.27, 1.31, 1.36, 1.37},
      {0.873, 0.901, 0.949, 1, 1.12, 1.29, 1.41, 1.45, 1.46},
      {0.83, 0.878, 0.91, 1, 1.17, 1.64, 1.83, 2.65, 2.7}}},
    {200,
     {51.4, 73.79, 120.6, 253.6, 518.6, 768.5, 1149, 1583, 2201, 4950, 1.255e+04, 2.855e+04},
     {{0.993, 0.997, 0.998, 1, 1, 1, 1.01, 1.01, 1.01},
      {0.975, 0.987, 0.99, 1, 1.01, 1.02, 1.02, 1.02, 1.03},
      {0.985, 0.992, 0.996, 1, 1.01, 1.02, 1.03, 1.04, 1.04},
      {0.978, 0.986, 0.992, 1, 1.01, 1.04, 1.05, 1.06, 1.06},
      {0.952, 0.976, 0.987, 1, 1.04, 1.08, 1.09, 1.11, 1.11},
      {0.89, 0.934, 0.964, 1, 1.05, 1.13, 1.15, 1.18, 1.19},
      {0.917, 0.947, 0.963, 1, 1.08, 1.19, 1.25, 1.29, 1.3},
      {0.849, 0.937, 0.953, 1, 1.11, 1.21, 1.38, 1.47, 1.47},
      {0.788, 0.866, 0.91, 1, 1.13, 1.46, 1.81, 1.99, 2.16},
      {0.814, 0.881, 0.925, 1, 1.16, 1.73, 2.3, 3.12, 7.15}}},
    {5000,
     {57.87, 116.3, 168.5, 190, 217.9, 286.5, 786.6, 1483, 2410, 4144, 1.56e+04, 1.036e+05},
     {{0.969, 0.989, 0.992, 1, 1.01, 1.02, 1.02, 1.03, 1.03},
      {0.959, 0.98, 0.988, 1, 1.03, 1.06, 1.06, 1.09, 1.1},
      {0.858, 0.978, 0.984, 1, 1.03, 1.09, 1.15, 1.2, 1.22},
      {0.878, 0.948, 0.963, 1, 1.05, 1.17, 1.26, 1.33, 1.36},
      {0.905, 0.943, 0.966, 1, 1.06, 1.22, 1.38, 1.46, 1.49},
      {0.588, 0.905, 0.939, 1, 1.09, 1.24, 1.36, 1.64, 1.71},
      {0.658, 0.89, 0.927, 1, 1.12, 1.43, 1.68, 2.09, 2.12},
      {0.5, 0.827, 0.881, 1, 1.33, 1.61, 2.26, 2.98, 4.15},
      {0.544, 0.687, 0.774, 1, 4.63, 5.48, 6.19, 7.24, 7.9},
      {0.551, 0.705, 0.791, 1, 3.8, 4.31, 5.05, 7.37, 8.29}}},
};

// Interpolates between the points `at` of a curve; logarithmically if `log`.
template <size_t N>
double Curve(const double (&at)[N], const double (&value)[N], double p, bool log) {
  size_t i = 1;
  while (i + 1 < N && p > at[i]) ++i;
  const double f = (p - at[i - 1]) / (at[i] - at[i - 1]);
  if (!log) return value[i - 1] + f * (value[i] - value[i - 1]);
  return value[i - 1] * std::exp(f * std::log(value[i] / value[i - 1]));
}

std::vector<float> Durations(Rng& rng, uint32_t n, double median, const Shape& shape) {
  std::vector<float> out(n);
  for (uint32_t i = 0; i < n; ++i) {
    const double p = n == 1 ? .5 : i == 0 ? 0 : i + 1 == n ? 1 : (i + rng.Uniform()) / n;
    out[i] = static_cast<float>(median * Curve(kAt, shape.at, p, false));
  }
  for (uint32_t i = n; i > 1; --i) std::swap(out[i - 1], out[rng.Below(i)]);
  return out;
}

void AddPhase(Rng& rng, const MeasuredPhase& phase, sched::SlotKind kind, JobModel* job) {
  if (phase.tasks == 0) return;
  StageModel stage;
  stage.name = kind == sched::SlotKind::kMap ? "map" : "reduce";
  stage.kind = kind;
  stage.tasks = phase.tasks;
  stage.bytes = phase.bytes * phase.tasks;
  if (!job->stages.empty()) job->stages[0].output_bytes = stage.bytes;
  stage.inputs.push_back(job->stages.empty() ? sched::StageInput{}
                                             : sched::StageInput{true, sched::EdgeKind::kAllToAll, 0});
  stage.durations = Durations(rng, phase.tasks, phase.median, phase.shape);
  if (phase.copy > 0) {
    stage.shares.assign(phase.tasks, {static_cast<float>(phase.copy), static_cast<float>(phase.sort)});
  }
  job->stages.push_back(std::move(stage));
}

}  // namespace

// Draws in rounds: each round takes each row once, in random order, so that 18 jobs are the record's.
JobModel MumakJob(Rng& rng, uint32_t number, std::vector<uint32_t>* round) {
  if (round->empty()) {
    for (uint32_t r = 0; r < std::size(kMumak); ++r) round->push_back(r);
  }
  const size_t at = rng.Below(round->size());
  const uint32_t row = (*round)[at];
  round->erase(round->begin() + static_cast<std::ptrdiff_t>(at));
  JobModel job{0, "m" + std::to_string(number), {}};
  AddPhase(rng, kMumak[row][0], sched::SlotKind::kMap, &job);
  AddPhase(rng, kMumak[row][1], sched::SlotKind::kReduce, &job);
  return job;
}

JobModel GoogleJob(Rng& rng, uint32_t number) {
  const double steps = std::max(0.0, (rng.Uniform() - kWidthFrom) * 100);
  const auto step = std::min(static_cast<size_t>(steps), std::size(kWidths) - 2);
  const double width = kWidths[step] + (steps - static_cast<double>(step)) * (kWidths[step + 1] - kWidths[step]);
  const auto tasks = static_cast<uint32_t>(std::lround(width));
  size_t c = 0;
  while (kGoogle[c].to < tasks) ++c;
  const WidthClass& k = kGoogle[c];
  const double median = Curve(kOver, k.median, rng.Uniform(), true);
  // Interpolates between the two nearest shapes. Each stands for the middle of its tenth.
  const double at = std::clamp(rng.Uniform() * 10 - .5, 0.0, 9.0);
  const auto low = std::min<size_t>(static_cast<size_t>(at), 8);
  Shape shape{};
  for (size_t i = 0; i < kPoints; ++i) {
    const double x = k.shapes[low].at[i], y = k.shapes[low + 1].at[i];
    shape.at[i] = tasks == 1 ? 1 : x + (at - static_cast<double>(low)) * (y - x);
  }
  JobModel job = MapReduce(0, "g" + std::to_string(number), tasks, 0, 0, 0, 0);
  job.stages[0].durations = Durations(rng, tasks, median, shape);
  return job;
}

std::vector<float> GoogleFactors() {
  constexpr uint32_t kFewest = 20, kEach = 50, kFactors = 2000;
  std::vector<std::pair<double, double>> tasks;  // factor, weight
  double all = 0;
  for (size_t step = 0; step + 1 < std::size(kWidths); ++step) {
    const double width = (kWidths[step] + kWidths[step + 1]) / 2;
    if (width < kFewest) continue;
    size_t c = 0;
    while (kGoogle[c].to < width) ++c;
    for (const Shape& shape : kGoogle[c].shapes) {
      for (uint32_t i = 0; i < kEach; ++i) {
        tasks.push_back({Curve(kAt, shape.at, (i + .5) / kEach, false), width});
        all += width;
      }
    }
  }
  std::sort(tasks.begin(), tasks.end());
  std::vector<float> factors;
  double passed = 0;
  for (const auto& [factor, weight] : tasks) {
    passed += weight / all;
    while (factors.size() < kFactors && (static_cast<double>(factors.size()) + .5) / kFactors <= passed) {
      factors.push_back(static_cast<float>(factor));
    }
  }
  return factors;
}

}  // namespace mr::sim
