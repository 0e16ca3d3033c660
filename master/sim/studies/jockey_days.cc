#include "master/sim/studies/jockey_days.h"

#include <algorithm>
#include <cmath>

#include "common/base/digest.h"
#include "master/sched/policies/jockey/jockey.h"
#include "master/sim/studies/jockey_setups.h"
#include "master/sim/traces/workload.h"

namespace mr::sim {

namespace {

// Sigmas of the logarithm of a run's factor and of each stage's own factor. Together they give the variation of
// recurring jobs with inputs of one size (Jockey: .20 at the median).
constexpr double kRunToRun = .2, kStageToStage = .1;
// The paper's minute in fastest runs: an hour is 3.3 of them, the middle of the deadlines. A guess.
constexpr double kMinuteOfFastest = 3.3 / 60;

double Fastest(const RunProfile& shape, uint64_t seed) { return SampleRun(shape, kJockeySlots, seed).back().at; }

// Returns the profile that a run under fair gives.
Result<RunProfile> Learned(const RunProfile& shape, uint64_t seed, uint64_t run) {
  MR_ASSIGN_OR_RETURN(DeadlineRun first,
                      RunOne(NoisyCluster(JobOf(shape, {}, seed), "fair,dryad_speculation", MixHash(seed, run),
                                          kMinuteOfFastest * Fastest(shape, seed)),
                             {}));
  return std::move(first.profile);
}

// Makes a job's predictions from what was learned.
Status Foretell(const RunProfile& learned, uint64_t seed, sched::Indicator indicator, Recurring* job) {
  PredictOptions options;
  options.slots = SlotsToPredict(kJockeySlots);
  options.seed = seed;
  options.indicator = indicator;
  for (const bool days : {true, false}) {
    options.days = days;
    MR_ASSIGN_OR_RETURN(Prediction p, Predict(learned, options));
    (days ? job->prediction : job->narrow) = std::make_shared<const Prediction>(std::move(p));
  }
  return Status::Ok();
}

// Returns the queries of a file of so many gigabytes.
Result<std::vector<RunProfile>> Queries(const std::string& data, double gigabytes) {
  const std::string file = "tpch_" + std::to_string(std::lround(gigabytes)) + "g_tasks.tsv";
  MR_ASSIGN_OR_RETURN(const Trace trace, LoadTrace({file, data, "tpch"}));
  std::vector<RunProfile> queries;
  for (const JobModel& job : trace.jobs) {
    RunProfile& profile = queries.emplace_back();
    for (const StageModel& model : job.stages) {
      StageRuns stage;
      stage.name = model.name;
      stage.tasks = model.tasks;
      for (const sched::StageInput& input : model.inputs) {
        if (input.is_edge) stage.inputs.push_back(input);
      }
      stage.run = model.durations;
      std::sort(stage.run.begin(), stage.run.end());
      profile.stages.push_back(std::move(stage));
    }
  }
  return queries;
}

bool SamePlan(const RunProfile& a, const RunProfile& b) {
  return std::equal(a.stages.begin(), a.stages.end(), b.stages.begin(), b.stages.end(),
                    [](const StageRuns& x, const StageRuns& y) { return x.name == y.name && x.inputs == y.inputs; });
}

}  // namespace

Result<std::vector<Recurring>> RecurringJobs(const std::vector<JockeyShape>& shapes, uint64_t seed,
                                             sched::Indicator indicator) {
  std::vector<Recurring> jobs;
  for (const JockeyShape& shape : shapes) {
    Recurring r;
    r.shape = JockeyJob(shape, seed);
    r.fastest = Fastest(r.shape, seed);
    MR_ASSIGN_OR_RETURN(const RunProfile learned, Learned(r.shape, seed, jobs.size()));
    MR_RETURN_IF_ERROR(Foretell(learned, seed, indicator, &r));
    jobs.push_back(std::move(r));
  }
  return jobs;
}

Result<std::vector<Recurring>> TpchJobs(const std::string& data, const QuerySizes& sizes, uint64_t seed,
                                        sched::Indicator indicator) {
  MR_ASSIGN_OR_RETURN(std::vector<RunProfile> known, Queries(data, sizes.learned));
  std::vector<RunProfile> learned;
  std::vector<double> stretched;
  for (size_t q = 0; q < known.size(); ++q) {
    stretched.push_back(60 / kMinuteOfFastest / Fastest(known[q], seed));
    known[q] = Scaled(known[q], stretched[q], true);
    MR_ASSIGN_OR_RETURN(learned.emplace_back(), Learned(known[q], seed, q));
  }
  std::vector<Recurring> jobs;
  for (const double gigabytes : sizes.run) {
    MR_ASSIGN_OR_RETURN(const std::vector<RunProfile> queries, Queries(data, gigabytes));
    if (queries.size() != known.size()) return Internal("TPC-H has other queries with other sizes");
    for (size_t q = 0; q < queries.size(); ++q) {
      if (!SamePlan(queries[q], known[q])) return Internal("a query of TPC-H has another plan with another size");
      Recurring r;
      r.shape = Scaled(queries[q], stretched[q], true);
      r.fastest = Fastest(r.shape, seed);
      std::vector<uint32_t> tasks;
      for (const StageRuns& stage : r.shape.stages) tasks.push_back(stage.tasks);
      MR_RETURN_IF_ERROR(Foretell(ScaledTo(learned[q], tasks, gigabytes / sizes.learned), seed, indicator, &r));
      jobs.push_back(std::move(r));
    }
  }
  return jobs;
}

Day DayOf(const Recurring& job, uint64_t seed, uint32_t run, double times) {
  Rng rng = Rng::Stream(seed, "day " + std::to_string(run));
  const double all = std::exp(kRunToRun * StandardNormal(rng));
  std::vector<double> factors;
  for (size_t s = 0; s < job.shape.stages.size(); ++s)
    factors.push_back(all * std::exp(kStageToStage * StandardNormal(rng)));
  Day day{JobOf(job.shape, factors, MixHash(seed, run)), 0, kMinuteOfFastest * job.fastest};
  day.deadline = std::max(times * job.fastest, sched::kJockeySlack * CriticalPath(day.job));
  return day;
}

}  // namespace mr::sim
