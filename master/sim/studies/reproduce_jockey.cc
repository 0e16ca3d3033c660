// Jockey (Ferguson et al., EuroSys'12): the quality of its predictor and its progress indicators.
#include <algorithm>
#include <cmath>

#include "master/sim/studies/jockey_setups.h"
#include "master/sim/studies/reproduce_jockey.h"

namespace mr::sim {

namespace {

using sched::Indicator;

constexpr uint32_t kSlots = 40;  // of the 100 slots that the paper's jobs may have; a guess
constexpr Indicator kIndicators[] = {
    Indicator::kTotalWorkWithQueueing, Indicator::kTotalWork, Indicator::kVertexFraction,
    Indicator::kCriticalPath,          Indicator::kMinStage,  Indicator::kMinStageInfinite};
constexpr const char* kNames[] = {"totalworkWithQ", "totalwork", "vertexfrac", "CP", "minstage", "minstage-inf"};
constexpr double kConstant[] = {8.5, 9.3, 10.1, 15.2, 19.9, 26.7};  // Jockey, from memory, as the next
constexpr double kJumps[] = {2.0, 2.3, 2.2, 3.0, 3.3, 3.7};

double Median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

// In percent of a run's length: the longest time without progress, and the mean change of the predicted end between a
// hundred instants.
struct Smoothness {
  double constant = 0, jump = 0;
};

Result<Smoothness> Judge(const RunProfile& profile, const RunProfile& day, Indicator indicator, uint64_t seed) {
  PredictOptions options;
  options.slots = {kSlots};
  options.indicator = indicator;
  options.seed = seed;
  MR_ASSIGN_OR_RETURN(const Prediction prediction, Predict(profile, options));
  const auto stages = Summarize(profile, kSlots, seed);
  const std::vector<RunPoint> points = SampleRun(day, kSlots, seed);
  const double length = points.back().at;
  Smoothness out;
  double since = 0, before = -1, end = -1;
  size_t next = 0, steps = 0;
  for (const RunPoint& point : points) {
    const double progress = ProgressOf(indicator, stages, point.finished);
    out.constant = std::max(out.constant, 100 * (point.at - since) / length);
    if (progress > before + 1e-9) since = point.at, before = progress;
    if (point.at < length * static_cast<double>(next) / 100) continue;
    ++next;
    const double now = point.at + Median(prediction.At(0, progress));
    if (end >= 0) out.jump += std::abs(now - end) / length * 100, ++steps;
    end = now;
  }
  out.jump /= static_cast<double>(std::max<size_t>(1, steps));
  return out;
}

Figure Indicators() {
  Figure f{"indicators",
           "progress of jobs with barriers (A, C, D and G) as chains, medians, on another day than was learned",
           {},
           nullptr};
  for (int i = 0; i < 6; ++i)
    f.lines.push_back({std::string(kNames[i]) + ": longest without progress, % of the run", kConstant[i]});
  for (int i = 0; i < 6; ++i)
    f.lines.push_back({std::string(kNames[i]) + ": mean change of the predicted end, %", kJumps[i]});
  f.lines.push_back({"pairs of neighbours in the paper's order, of 5", 5, 5, kNoBound});
  f.run = [](const RunContext& c) -> Result<std::vector<double>> {
    std::vector<double> constant, jump;
    for (const Indicator indicator : kIndicators) {
      std::vector<double> constants, jumps;
      for (const int job : {0, 2, 3, 6}) {
        const RunProfile profile = JockeyJob(job, c.seed, true);
        MR_ASSIGN_OR_RETURN(const Smoothness s,
                            Judge(profile, AnotherDay(profile, kDayToDay, c.seed), indicator, c.seed));
        constants.push_back(s.constant);
        jumps.push_back(s.jump);
      }
      constant.push_back(Median(constants));
      jump.push_back(Median(jumps));
    }
    double ordered = 0;
    for (int i = 0; i < 5; ++i) ordered += constant[i] <= constant[i + 1];
    std::vector<double> out = constant;
    out.insert(out.end(), jump.begin(), jump.end());
    out.push_back(ordered);
    return out;
  };
  return f;
}

Figure Errors() {
  Figure f{"prediction",
           "error of the predicted run time, jobs A to G with 10 to 100 slots, on another day, mean",
           {},
           nullptr};
  f.lines = {{"simulator, %", 9.8},
             {"Amdahl, %", 11.8},
             {"simulator / Amdahl", kNoNumber, -kNoBound, 1},
             {"Amdahl with 10 slots, %"},
             {"Amdahl with 100 slots, %"}};
  f.run = [](const RunContext& c) -> Result<std::vector<double>> {
    const std::vector<uint32_t> slots = {10, 20, 40, 70, 100};
    double simulated = 0, amdahl = 0, few = 0, many = 0;
    for (int job = 0; job < kJockeyJobs; ++job) {
      const RunProfile profile = JockeyJob(job, c.seed);
      PredictOptions options;
      options.slots = slots;
      options.seed = c.seed;
      MR_ASSIGN_OR_RETURN(const Prediction prediction, Predict(profile, options));
      const auto stages = Summarize(profile, slots.back(), c.seed);
      const sched::Amdahl law = AmdahlOf(stages, std::vector<double>(stages.size(), 0));
      const RunProfile day = AnotherDay(profile, kDayToDay, c.seed);
      for (size_t a = 0; a < slots.size(); ++a) {
        const double took = SampleRun(day, slots[a], c.seed + 1).back().at;
        const double error = 100 * std::abs(law.Left(slots[a]) / took - 1);
        simulated += 100 * std::abs(Median(prediction.At(a, 0)) / took - 1);
        amdahl += error;
        if (a == 0) few += error;
        if (a + 1 == slots.size()) many += error;
      }
    }
    const double n = kJockeyJobs, all = n * static_cast<double>(slots.size());
    return std::vector<double>{simulated / all, amdahl / all, simulated / amdahl, few / n, many / n};
  };
  return f;
}

}  // namespace

Study JockeyStudy() {
  Study s{"jockey", "Jockey: Ferguson et al., Guaranteed Job Latency in Data Parallel Clusters, EuroSys 2012", {}, {}};
  s.parameters = {
      {"jobs",
       "trees of stages: 23 14 16 24 11 26 110, of 681 1605 5751 3897 2033 6139 8496 tasks; in `indicators` chains",
       "Jockey 5, jobs A to G, from memory; edges a guess"},
      {"TPC-H",
       "19 queries by Spark: a run with 50 GB is learned, those with 20 and 100 are run; stretched so that deadlines "
       "are about an hour",
       "tpch-spark-decima"},
      {"barriers", "6 0 3 3 1 1 15, at places drawn", "Jockey 5, from memory; places a guess"},
      {"task", "its median and 90th percentile, at most 3 times that; .5 s until it begins",
       "Jockey 5, from memory; guesses"},
      {"deadline", "3, 3.3 and 3.6 times the fastest run with all 100 slots, 1.2 times the longest path at least",
       "guesses: fair is to miss a third"},
      {"cluster",
       "25 workers of 4 slots; nine other queues of tasks (median .2 minutes) for 75 slots on average, 5 minutes on, "
       "3 off; 3.3 times the fastest run are an hour",
       "guesses"},
      {"faults", "1 % of attempts fail; within the hour 2 workers crash, 6 are slow for 5 minutes", "guesses"},
      {"predictions",
       "jockey: as wide as days differ, our addition; the paper's predictor and those behind it: of the day that was "
       "learned. Corrected by how long tasks take today: ours, too",
       "Jockey 4.1"},
      {"another day",
       "times of each stage times lognormal(0, .2); in runs all times lognormal(0, .2), of each stage (0, .1)",
       "recurring jobs of one size: Jockey (EuroSys'12)"}};
  s.figures = {Errors(), Indicators(), JockeyDeadlines(), JockeyTpch(), JockeyChanges(), JockeySensitivity()};
  return s;
}

}  // namespace mr::sim
