// Jockey (Ferguson et al., EuroSys'12, section 5): deadlines met, and slots held for them, on a shared cluster. Each
// run is a run of the scheduler itself (jockey_runs.h).
#include <algorithm>
#include <cmath>

#include "master/sim/studies/jockey_days.h"
#include "master/sim/studies/jockey_setups.h"
#include "master/sim/studies/reproduce_jockey.h"

namespace mr::sim {

namespace {

constexpr uint32_t kRuns = 94;  // the paper's
constexpr auto kDefault = sched::Indicator::kTotalWorkWithQueueing;
// Deadlines in fastest runs: guesses, chosen so that fair misses a third, and most=on ends at about .6 of them (in the
// paper .6 to .7, from memory).
constexpr double kDeadlines[] = {3, 3.3, 3.6};

struct Outcome {
  double missed = 0, worst = 0, median = 0, above = 0, variation = 0;
};

Result<Outcome> Runs(const std::vector<Recurring>& jobs, const std::string& list, bool narrow, uint64_t seed,
                     uint32_t runs) {
  Outcome out;
  double above = 0, guaranteed = 0, mean = 0, square = 0;
  std::vector<double> ends;
  for (uint32_t r = 0; r < runs; ++r) {
    const Recurring& job = jobs[r % jobs.size()];
    Day day = DayOf(job, seed, r, kDeadlines[r / jobs.size() % std::size(kDeadlines)]);
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

struct Form {
  const char* name;
  const char* list;
  bool narrow;  // the paper's predictions
};
constexpr Form kForms[] = {{"jockey", "fair,jockey,dryad_speculation", false},
                           {"the paper's predictor", "fair,jockey,dryad_speculation", true},
                           {"without adaptation", "fair,jockey(adapt=off),dryad_speculation", true},
                           {"Amdahl's law", "fair,jockey(model=amdahl),dryad_speculation", true},
                           {"all slots", "fair,jockey(most=on),dryad_speculation", true},
                           {"fair", "fair,dryad_speculation", true}};

constexpr char kWhyMissed[] =
    "a worker that crashes late takes outputs that must be made again, stage after stage, with little time left";
constexpr char kWhyFixed[] =
    "the first guarantee has slack and dead zone for all of the job, and is never let go: it pays with slots";
constexpr char kWhyAmdahl[] =
    "its longest path adds the longest task of each stage, so that it asks for more slots: it pays with them";

// Ninety-four runs of these jobs under each list.
Figure Deadlines(std::string id, std::string what,
                 std::function<Result<std::vector<Recurring>>(const RunContext&)> jobs) {
  Figure f{std::move(id), std::move(what), {}, nullptr};
  f.lines = {{"jockey: missed", 1, -kNoBound, 1, kWhyMissed},
             {"the paper's predictor: missed"},
             {"without adaptation: missed (paper: 15 to 20 %)"},
             {"Amdahl's law: missed (paper: 15 to 20 %)"},
             {"all slots: missed"},
             {"fair: missed", kNoNumber, kRuns / 3.0, kNoBound},
             {"missed more without adaptation than by the paper's predictor", kNoNumber, 1, kNoBound, kWhyFixed},
             {"missed more by Amdahl's law than by the paper's predictor", kNoNumber, 1, kNoBound, kWhyAmdahl}};
  for (const Form& form : kForms) f.lines.push_back({std::string(form.name) + ": worst end, % of the deadline"});
  f.lines[8].paper = 103;
  for (const Form& form : kForms) f.lines.push_back({std::string(form.name) + ": median end, % of the deadline"});
  f.lines[18].paper = 65;
  for (size_t i = 0; i < 5; ++i)
    f.lines.push_back({std::string(kForms[i].name) + ": above the oracle, % of slot-time"});
  f.lines.push_back({"above the oracle, jockey / all slots", kNoNumber, -kNoBound, .999});
  f.lines.push_back({"coefficient of variation, all slots"});
  f.run = [jobs = std::move(jobs)](const RunContext& c) -> Result<std::vector<double>> {
    MR_ASSIGN_OR_RETURN(const std::vector<Recurring> all, jobs(c));
    if (all.empty()) return std::vector<double>{};
    std::vector<Outcome> of;
    for (const Form& form : kForms) {
      MR_ASSIGN_OR_RETURN(of.emplace_back(), Runs(all, form.list, form.narrow, c.seed, kRuns));
    }
    std::vector<double> out;
    for (const Outcome& o : of) out.push_back(o.missed);
    for (const size_t i : {2, 3}) out.push_back(of[i].missed - of[1].missed);
    for (const Outcome& o : of) out.push_back(o.worst);
    for (const Outcome& o : of) out.push_back(o.median);
    for (size_t i = 0; i < 5; ++i) out.push_back(of[i].above);
    out.push_back(of[0].above / of[4].above);
    out.push_back(of[4].variation);
    return out;
  };
  return f;
}

}  // namespace

Figure JockeyDeadlines() {
  return Deadlines("deadlines", "94 runs of jobs A to G, on other days than was learned, beside nine other queues",
                   [](const RunContext& c) { return PaperJobs(c.seed, kDefault); });
}

Figure JockeyTpch() {
  return Deadlines("tpch", "94 runs of TPC-H's queries with 20 and 100 GB, learned with 50, beside nine other queues",
                   [](const RunContext& c) -> Result<std::vector<Recurring>> {
                     if (c.data.empty()) {
                       *c.skipped = "MR_DATA does not say where traces are";
                       return std::vector<Recurring>{};
                     }
                     *c.used = "tpch-spark-decima";
                     return TpchJobs(c.data, c.seed, kDefault);
                   });
}

// Each job once with a loose deadline that can be halved. It changes after a fifth of the deadline.
Figure JockeyChanges() {
  Figure f{"changes", "deadlines of jobs A to G halved, doubled and tripled in flight", {}, nullptr};
  f.lines = {{"halved: missed of 7", 0, -kNoBound, 0, "some are below what is left of the longest path then"},
             {"halved: slots guaranteed after it, % more than unchanged", 148, 1, kNoBound},
             {"doubled: slots released, % of unchanged", 63, 1, kNoBound},
             {"tripled: slots released, % of unchanged", 83, 1, kNoBound},
             {"doubled or tripled: missed of 14"}};
  f.run = [](const RunContext& c) -> Result<std::vector<double>> {
    MR_ASSIGN_OR_RETURN(const std::vector<Recurring> jobs, PaperJobs(c.seed, kDefault));
    // Returns the mean guarantee from the change on, while both the unchanged run and this one go on.
    const auto mean = [](const DeadlineRun& run, double from, double to) {
      double sum = 0;
      for (size_t i = 0; i < run.shares.size(); ++i) {
        const double end = i + 1 < run.shares.size() ? run.shares[i + 1].first : to;
        sum += run.shares[i].second * std::max(0.0, std::min(end, to) - std::max(run.shares[i].first, from));
      }
      return to > from ? sum / (to - from) : 0;
    };
    constexpr double kTimes[] = {.5, 2, 3}, kAt = .2;
    double missed[3] = {}, before[3] = {}, after[3] = {};
    for (uint32_t job = 0; job < kJockeyJobs; ++job) {
      const Day day = DayOf(jobs[job], c.seed, 200 + job, kDeadlines[1]);
      const double deadline = 2 * day.deadline, at = kAt * deadline;
      const auto run = [&](double changed) {
        return RunOne(NoisyCluster(day.job, kForms[0].list, 1000 * c.seed + 300 + job, day.minute),
                      {deadline, at, changed, jobs[job].prediction});
      };
      MR_ASSIGN_OR_RETURN(const DeadlineRun same, run(0));
      for (size_t i = 0; i < 3; ++i) {
        MR_ASSIGN_OR_RETURN(const DeadlineRun other, run(kTimes[i] * deadline));
        missed[i] += !other.met();
        const double to = std::min(same.seconds, other.seconds);
        if (to <= at) continue;
        before[i] += mean(same, at, to) * (to - at);
        after[i] += mean(other, at, to) * (to - at);
      }
    }
    return std::vector<double>{missed[0], 100 * (after[0] / before[0] - 1), 100 * (1 - after[1] / before[1]),
                               100 * (1 - after[2] / before[2]), missed[1] + missed[2]};
  };
  return f;
}

// Section 5.5 of the paper, whose numbers are not known.
Figure JockeySensitivity() {
  struct Variant {
    const char* name;
    const char* list;
    sched::Indicator indicator;
  };
  static constexpr Variant kVariants[] = {
      {"as it is", "fair,jockey,dryad_speculation", kDefault},
      {"no hysteresis, no dead zone", "fair,jockey(hysteresis=1,dead_zone=0),dryad_speculation", kDefault},
      {"no slack", "fair,jockey(slack=1),dryad_speculation", kDefault},
      {"five periods", "fair,jockey(period=5),dryad_speculation", kDefault},
      {"indicator CP", "fair,jockey,dryad_speculation", sched::Indicator::kCriticalPath},
      {"indicator minstage", "fair,jockey,dryad_speculation", sched::Indicator::kMinStage}};
  static constexpr uint32_t kFewer = 42;
  Figure f{"sensitivity", "the first 42 of the 94 runs with other parameters", {}, nullptr};
  for (const Variant& v : kVariants) {
    f.lines.push_back({std::string(v.name) + ": missed of 42"});
    f.lines.push_back({std::string(v.name) + ": above the oracle, %"});
  }
  f.run = [](const RunContext& c) -> Result<std::vector<double>> {
    std::vector<double> out;
    for (const Variant& v : kVariants) {
      MR_ASSIGN_OR_RETURN(const std::vector<Recurring> jobs, PaperJobs(c.seed, v.indicator));
      MR_ASSIGN_OR_RETURN(const Outcome o, Runs(jobs, v.list, false, c.seed, kFewer));
      out.push_back(o.missed);
      out.push_back(o.above);
    }
    return out;
  };
  return f;
}

}  // namespace mr::sim
