// Jockey (Ferguson et al., EuroSys'12): the quality of its predictor and its progress indicators; deadlines met, and
// slots held for them, on a shared cluster. Each run of a job is a run of the scheduler itself (jockey_runs.h).
#include <algorithm>
#include <cmath>

#include "master/sim/studies/jockey_days.h"
#include "master/sim/studies/run_kinds.h"

namespace mr::sim {

namespace {

using sched::Indicator;

constexpr Indicator kIndicators[] = {
    Indicator::kTotalWorkWithQueueing, Indicator::kTotalWork, Indicator::kVertexFraction,
    Indicator::kCriticalPath,          Indicator::kMinStage,  Indicator::kMinStageInfinite};
const std::vector<std::string_view>& IndicatorNames() {
  static const std::vector<std::string_view> names = {"totalworkWithQ", "totalwork",   "vertexfrac", "CP",
                                                      "minstage",       "minstage-inf"};
  return names;
}

// Returns the upper of the two in the middle.
double UpperMedian(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

// In percent of a run's length: the longest time without progress, and the mean change of the predicted end between a
// hundred instants.
struct Smoothness {
  double constant = 0, jump = 0;
};

Result<Smoothness> Judged(const RunProfile& profile, const RunProfile& day, uint32_t slots, Indicator indicator,
                          uint64_t seed) {
  PredictOptions options;
  options.slots = {slots};
  options.indicator = indicator;
  options.seed = seed;
  MR_ASSIGN_OR_RETURN(const Prediction prediction, Predict(profile, options));
  const auto stages = Summarize(profile, slots, seed);
  const std::vector<RunPoint> points = SampleRun(day, slots, seed);
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
    const double now = point.at + UpperMedian(prediction.At(0, progress));
    if (end >= 0) out.jump += std::abs(now - end) / length * 100, ++steps;
    end = now;
  }
  out.jump /= static_cast<double>(std::max<size_t>(1, steps));
  return out;
}

struct Outcome {
  double missed = 0, worst = 0, median = 0, above = 0, variation = 0;
};

Result<Outcome> Runs(const std::vector<Recurring>& jobs, const std::string& list, bool narrow, uint64_t seed,
                     uint32_t runs, const std::vector<double>& deadlines) {
  Outcome out;
  double above = 0, guaranteed = 0, mean = 0, square = 0;
  std::vector<double> ends;
  if (jobs.empty() || runs == 0) return InvalidArgument("there are no jobs to run");
  for (uint32_t r = 0; r < runs; ++r) {
    const Recurring& job = jobs[r % jobs.size()];
    Day day = DayOf(job, seed, r, deadlines[r / jobs.size() % deadlines.size()]);
    const double deadline = day.deadline;
    MR_ASSIGN_OR_RETURN(const DeadlineRun run,
                        RunOne(NoisyCluster(std::move(day.job), list, 1000 * seed + 100 + r, day.minute),
                               {deadline, 0, 0, narrow ? job.narrow : job.prediction}));
    out.missed += !run.met();
    ends.push_back(100 * run.seconds / deadline);
    above += run.above;
    guaranteed += run.guaranteed;
    mean += run.seconds / job.fastest / runs;
    square += run.seconds / job.fastest * (run.seconds / job.fastest) / runs;
  }
  std::sort(ends.begin(), ends.end());
  out.worst = ends.back();
  out.median = ends[ends.size() / 2];
  out.above = 100 * above / guaranteed;
  out.variation = std::sqrt(std::max(0.0, square - mean * mean)) / mean;
  return out;
}

// The jobs of runs with deadlines: the study's recurring ones, or queries of TPC-H.
struct Jobs {
  std::vector<JockeyShape> shapes;
  QuerySizes sizes;
  bool queries = false;
  Indicator indicator = kIndicators[0];
};

Jobs ParseJobs(Fields* f, const StudyParts& parts) {
  Jobs jobs;
  jobs.shapes = parts.recurring;
  jobs.indicator = kIndicators[f->Choice("indicator", IndicatorNames(), 0)];
  if (const Node* table = f->Any("queries")) {
    jobs.queries = true;
    Fields q(*table, "queries", f->error());
    q.Number("learned", &jobs.sizes.learned, 1, 1e6);
    q.Numbers("run", &jobs.sizes.run, 1, 1e6);
    q.Done();
  } else if (jobs.shapes.empty()) {
    f->Wrong("wants [[recurring]] jobs, or 'queries'");
  }
  return jobs;
}

// The runs of a figure share their jobs and predictions.
Result<const std::vector<Recurring>*> JobsOf(const Jobs& jobs, const RunContext& c) {
  std::string key = "recurring " + std::to_string(static_cast<int>(jobs.indicator));
  if (jobs.queries) {
    if (c.data.empty()) {
      *c.skipped = kNoTraces;
      return NotFound(kNoTraces);
    }
    *c.used = "tpch-spark-decima";
    key += " " + std::to_string(jobs.sizes.learned);
    for (const double size : jobs.sizes.run) key += " " + std::to_string(size);
  }
  std::shared_ptr<const void>& kept = (*c.memory)[key];
  if (kept == nullptr) {
    auto made = jobs.queries ? TpchJobs(c.data, jobs.sizes, c.seed, jobs.indicator)
                             : RecurringJobs(jobs.shapes, c.seed, jobs.indicator);
    MR_RETURN_IF_ERROR(made.status());
    kept = std::make_shared<const std::vector<Recurring>>(std::move(*made));
  }
  return static_cast<const std::vector<Recurring>*>(kept.get());
}

// Returns the mean guarantee from one instant to another.
double MeanShare(const DeadlineRun& run, double from, double to) {
  double sum = 0;
  for (size_t i = 0; i < run.shares.size(); ++i) {
    const double end = i + 1 < run.shares.size() ? run.shares[i + 1].first : to;
    sum += run.shares[i].second * std::max(0.0, std::min(end, to) - std::max(run.shares[i].first, from));
  }
  return to > from ? sum / (to - from) : 0;
}

// Each job once, and again with each change of its deadline. Slot-seconds count from the change on, while both the
// unchanged run and the changed one go on.
Result<Measures> Changes(const std::vector<Recurring>& jobs, const std::string& list, double deadline_times,
                         double change_at, const std::vector<double>& times, uint64_t seed) {
  Numbers missed(times.size(), 0), before = missed, after = missed;
  for (uint32_t job = 0; job < jobs.size(); ++job) {
    const Day day = DayOf(jobs[job], seed, 200 + job, deadline_times);
    const double deadline = 2 * day.deadline, at = change_at * deadline;
    const auto run = [&](double changed) {
      return RunOne(NoisyCluster(day.job, list, 1000 * seed + 300 + job, day.minute),
                    {deadline, at, changed, jobs[job].prediction});
    };
    MR_ASSIGN_OR_RETURN(const DeadlineRun same, run(0));
    for (size_t i = 0; i < times.size(); ++i) {
      MR_ASSIGN_OR_RETURN(const DeadlineRun other, run(times[i] * deadline));
      missed[i] += !other.met();
      const double to = std::min(same.seconds, other.seconds);
      if (to <= at) continue;
      before[i] += MeanShare(same, at, to) * (to - at);
      after[i] += MeanShare(other, at, to) * (to - at);
    }
  }
  return Measures{{"missed", missed}, {"unchanged", before}, {"changed", after}};
}

// Mean error of the predicted run times on another day, in percent, for each number of slots.
Result<Measures> PredictionErrors(const std::vector<JockeyShape>& shapes, const std::vector<uint32_t>& slots,
                                  uint64_t seed) {
  Numbers simulated(slots.size(), 0), amdahl(slots.size(), 0);
  const auto n = static_cast<double>(shapes.size());
  for (const JockeyShape& shape : shapes) {
    const RunProfile profile = JockeyJob(shape, seed);
    PredictOptions options;
    options.slots = slots;
    options.seed = seed;
    MR_ASSIGN_OR_RETURN(const Prediction prediction, Predict(profile, options));
    const auto stages = Summarize(profile, slots.back(), seed);
    const sched::Amdahl law = AmdahlOf(stages, std::vector<double>(stages.size(), 0));
    const RunProfile day = AnotherDay(profile, kDayToDay, seed);
    for (size_t a = 0; a < slots.size(); ++a) {
      const double took = SampleRun(day, slots[a], seed + 1).back().at;
      simulated[a] += 100 * std::abs(UpperMedian(prediction.At(a, 0)) / took - 1) / n;
      amdahl[a] += 100 * std::abs(law.Left(slots[a]) / took - 1) / n;
    }
  }
  return Measures{{"errors", simulated}, {"amdahl_errors", amdahl}};
}

// Medians over the jobs, as chains, for each indicator in order.
Result<Measures> IndicatorsOf(const std::vector<JockeyShape>& shapes, uint32_t slots, uint64_t seed) {
  Measures m;
  for (const Indicator indicator : kIndicators) {
    std::vector<double> constants, jumps;
    for (const JockeyShape& shape : shapes) {
      const RunProfile profile = JockeyJob(shape, seed, true);
      MR_ASSIGN_OR_RETURN(const Smoothness s,
                          Judged(profile, AnotherDay(profile, kDayToDay, seed), slots, indicator, seed));
      constants.push_back(s.constant);
      jumps.push_back(s.jump);
    }
    m["constant"].push_back(UpperMedian(constants));
    m["jump"].push_back(UpperMedian(jumps));
  }
  return m;
}

}  // namespace

MeasuredRun ParsePrediction(Fields* f, const StudyParts& parts) {
  std::vector<uint32_t> slots;
  f->Wholes("slots", &slots, 1, 100'000);
  if (slots.empty() || !std::is_sorted(slots.begin(), slots.end())) f->Wrong("slots", "must be ascending numbers");
  if (parts.recurring.empty()) f->Wrong("wants [[recurring]] jobs");
  return [shapes = parts.recurring, slots](const RunContext& c) { return PredictionErrors(shapes, slots, c.seed); };
}

MeasuredRun ParseIndicators(Fields* f, const StudyParts& parts) {
  uint32_t slots = 1;
  std::vector<std::string> names;
  std::vector<JockeyShape> shapes;
  f->Whole("slots", &slots, 1, 100'000);
  f->Texts("of", &names);
  for (const std::string& name : names) {
    const auto it = std::find_if(parts.recurring.begin(), parts.recurring.end(),
                                 [&](const JockeyShape& shape) { return shape.name == name; });
    if (it != parts.recurring.end()) shapes.push_back(*it);
  }
  if (shapes.empty() || shapes.size() != names.size()) f->Wrong("of", "must name [[recurring]] jobs");
  return [shapes, slots](const RunContext& c) { return IndicatorsOf(shapes, slots, c.seed); };
}

MeasuredRun ParseDeadlines(Fields* f, const StudyParts& parts) {
  const Jobs jobs = ParseJobs(f, parts);
  const std::string list = ParseList(f, parts);
  bool narrow = false;
  uint32_t runs = 1;
  std::vector<double> deadlines;
  f->Flag("learned_day_only", &narrow);
  f->Whole("count", &runs, 1, 100'000);
  f->Numbers("deadlines", &deadlines, 1e-3, 1e3);
  if (deadlines.empty()) f->Wrong("has no 'deadlines'");
  return [jobs, list, narrow, runs, deadlines](const RunContext& c) -> Result<Measures> {
    MR_ASSIGN_OR_RETURN(const std::vector<Recurring>* all, JobsOf(jobs, c));
    MR_ASSIGN_OR_RETURN(const Outcome o, Runs(*all, list, narrow, c.seed, runs, deadlines));
    return Measures{{"missed", {o.missed}},
                    {"worst", {o.worst}},
                    {"median", {o.median}},
                    {"above", {o.above}},
                    {"variation", {o.variation}}};
  };
}

MeasuredRun ParseDeadlineChanges(Fields* f, const StudyParts& parts) {
  const Jobs jobs = ParseJobs(f, parts);
  const std::string list = ParseList(f, parts);
  double deadline = 1, at = 0;
  std::vector<double> times;
  f->Number("deadline", &deadline, 1e-3, 1e3);
  f->Number("at", &at, 0, 1);
  f->Numbers("times", &times, 1e-3, 1e3);
  return [jobs, list, deadline, at, times](const RunContext& c) -> Result<Measures> {
    MR_ASSIGN_OR_RETURN(const std::vector<Recurring>* all, JobsOf(jobs, c));
    return Changes(*all, list, deadline, at, times, c.seed);
  };
}

}  // namespace mr::sim
