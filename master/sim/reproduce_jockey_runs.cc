// Jockey (Ferguson et al., EuroSys 2012): deadlines met, and slots held for them, on a cluster that others use, too
// (papers.md 4.4 and 5.5 of the paper). Each run is a run of the scheduler itself (jockey_runs.h).
#include <algorithm>
#include <cmath>

#include "common/base/digest.h"
#include "master/sched/policies/jockey.h"
#include "master/sim/jockey_runs.h"
#include "master/sim/jockey_setups.h"
#include "master/sim/reproduce_jockey.h"

namespace mr::sim {

namespace {

constexpr uint32_t kRuns = 94;  // the paper's
// Of all times of a run alike, beside kDayToDay of each stage. Together with what else happens on the cluster the
// coefficient of variation of a run with all slots guaranteed comes to about .2, the median of recurring jobs with
// inputs of one size (papers.md 4.1); a line of the figure shows it.
constexpr double kRunToRun = .15;
// Deadlines over the earliest that admission takes: guesses, such that most=on ends at about .6 of them
// (papers.md 4.4).
constexpr double kDeadlines[] = {1.4, 1.6, 1.8};

struct Learned {
  RunProfile shape;
  std::shared_ptr<const Prediction> prediction;
  double earliest = 0;  // deadline that admission takes with all slots: slack times what 19 of 20 runs need
  double typical = 0;   // seconds with all slots
};

// What a run under fair teaches of each job.
Result<std::vector<Learned>> Learn(uint64_t seed, sched::Indicator indicator) {
  std::vector<Learned> all;
  for (int job = 0; job < kJockeyJobs; ++job) {
    Learned l;
    l.shape = JockeyJob(job, seed);
    MR_ASSIGN_OR_RETURN(const DeadlineRun first,
                        RunOne(NoisyCluster(JobOf(l.shape, {}, seed), "fair", 1000 * seed + job), {}));
    PredictOptions options;
    options.slots = SlotsToPredict(kJockeySlots);
    options.seed = seed;
    options.indicator = indicator;
    MR_ASSIGN_OR_RETURN(Prediction p, Predict(first.profile, options));
    const std::vector<double> fastest = p.At(p.slots.size() - 1, 0);
    l.earliest = sched::kJockeySlack * fastest.back();
    l.typical = fastest[fastest.size() / 2];
    l.prediction = std::make_shared<const Prediction>(std::move(p));
    all.push_back(std::move(l));
  }
  return all;
}

// Run r of a job: its day, and a deadline that its longest path allows.
struct Day {
  JobModel job;
  double deadline = 0;
};
Day DayOf(const Learned& l, uint64_t seed, uint32_t r) {
  Rng rng = Rng::Stream(seed, "day " + std::to_string(r));
  const double all = std::exp(kRunToRun * StandardNormal(rng));
  std::vector<double> factors;
  for (size_t s = 0; s < l.shape.stages.size(); ++s)
    factors.push_back(all * std::exp(kDayToDay * StandardNormal(rng)));
  Day day{JobOf(l.shape, factors, MixHash(seed, r)), 0};
  // Nobody promises less than the longest path, with the same slack.
  day.deadline = std::max(l.earliest * kDeadlines[r / kJockeyJobs % std::size(kDeadlines)],
                          sched::kJockeySlack * CriticalPath(day.job));
  return day;
}

struct Outcome {
  double missed = 0, worst = 0, median = 0, above = 0, variation = 0;
};

Result<Outcome> Runs(const std::vector<Learned>& learned, const std::string& list, uint64_t seed, uint32_t runs) {
  Outcome out;
  double above = 0, guaranteed = 0, mean = 0, square = 0;
  std::vector<double> ends;
  for (uint32_t r = 0; r < runs; ++r) {
    const Learned& l = learned[r % kJockeyJobs];
    Day day = DayOf(l, seed, r);
    MR_ASSIGN_OR_RETURN(const DeadlineRun run, RunOne(NoisyCluster(std::move(day.job), list, 1000 * seed + 100 + r),
                                                      {day.deadline, 0, 0, l.prediction}));
    out.missed += !run.met();
    ends.push_back(100 * run.seconds / day.deadline);
    above += run.above;
    guaranteed += run.guaranteed;
    mean += run.seconds / l.typical / runs;
    square += run.seconds / l.typical * (run.seconds / l.typical) / runs;
  }
  std::sort(ends.begin(), ends.end());
  out.worst = ends.back();
  out.median = ends[ends.size() / 2];
  out.above = 100 * above / guaranteed;
  out.variation = std::sqrt(std::max(0.0, square - mean * mean)) / mean;
  return out;
}

constexpr const char* kLists[] = {"fair,jockey", "fair,jockey(adapt=off)", "fair,jockey(model=amdahl)",
                                  "fair,jockey(most=on)", "fair"};
constexpr const char* kNames[] = {"jockey", "without adaptation", "Amdahl's law", "all slots", "fair"};

constexpr char kWhyMissed[] =
    "those that miss run on days longer than the one that was learned; what comes last in a job shows it last, "
    "and the loop has let slots go by then";
constexpr char kWhyFixed[] =
    "the first guarantee has slack and dead zone for all of the job, and is never let go: it pays with slots";
constexpr char kWhyAmdahl[] =
    "its longest path adds the longest task of each stage, so that it asks for nearly all slots: it pays with slots";

}  // namespace

Figure JockeyDeadlines() {
  Figure f{
      "deadlines", "94 runs of jobs A to G, on other days than was learned, beside nine other queues", {}, nullptr};
  f.lines = {{"jockey: missed", 1, -kNoBound, 1, kWhyMissed},
             {"without adaptation: missed (paper: 15 to 20 %)"},
             {"Amdahl's law: missed (paper: 15 to 20 %)"},
             {"all slots: missed"},
             {"fair: missed", kNoNumber, kRuns / 3.0, kNoBound},
             {"missed more without adaptation", kNoNumber, 1, kNoBound, kWhyFixed},
             {"missed more by Amdahl's law", kNoNumber, 1, kNoBound, kWhyAmdahl},
             {"fair missed more than jockey by", kNoNumber, 20, kNoBound}};
  for (const char* name : kNames) f.lines.push_back({std::string(name) + ": worst end, % of the deadline"});
  f.lines[8].paper = 103;
  for (const char* name : kNames) f.lines.push_back({std::string(name) + ": median end, % of the deadline"});
  f.lines[16].paper = 65;
  for (size_t i = 0; i < 4; ++i) f.lines.push_back({std::string(kNames[i]) + ": above the oracle, % of slot-time"});
  f.lines.push_back({"above the oracle, jockey / all slots", kNoNumber, -kNoBound, .999});
  f.lines.push_back({"above the oracle, jockey / without adaptation"});
  f.lines.push_back({"above the oracle, jockey / Amdahl's law"});
  f.lines.push_back({"coefficient of variation, all slots", .2});
  f.run = [](const RunContext& c) -> Result<std::vector<double>> {
    MR_ASSIGN_OR_RETURN(const std::vector<Learned> learned, Learn(c.seed, sched::Indicator::kTotalWorkWithQueueing));
    std::vector<Outcome> of;
    for (const char* list : kLists) {
      MR_ASSIGN_OR_RETURN(of.emplace_back(), Runs(learned, list, c.seed, kRuns));
    }
    std::vector<double> out;
    for (const Outcome& o : of) out.push_back(o.missed);
    for (const size_t i : {1, 2, 4}) out.push_back(of[i].missed - of[0].missed);
    for (const Outcome& o : of) out.push_back(o.worst);
    for (const Outcome& o : of) out.push_back(o.median);
    for (size_t i = 0; i < 4; ++i) out.push_back(of[i].above);
    for (const size_t i : {3, 1, 2}) out.push_back(of[0].above / of[i].above);
    out.push_back(of[3].variation);
    return out;
  };
  return f;
}

// Each job once, its loosest deadline, changed when a fifth of it has passed.
Figure JockeyChanges() {
  Figure f{"changes", "deadlines of jobs A to G halved, doubled and tripled in flight", {}, nullptr};
  f.lines = {{"halved: missed of 7", 0, -kNoBound, 0, "some are below what is left of the longest path then"},
             {"halved: slots guaranteed after it, % more than unchanged", 148, 1, kNoBound},
             {"doubled: slots released, % of unchanged", 63, 1, kNoBound},
             {"tripled: slots released, % of unchanged", 83, 1, kNoBound},
             {"doubled or tripled: missed of 14"}};
  f.run = [](const RunContext& c) -> Result<std::vector<double>> {
    MR_ASSIGN_OR_RETURN(const std::vector<Learned> learned, Learn(c.seed, sched::Indicator::kTotalWorkWithQueueing));
    // Mean guarantee from the change on; while the unchanged run and this one both go on.
    const auto mean = [](const DeadlineRun& run, double from, double to) {
      double sum = 0;
      for (size_t i = 0; i < run.shares.size(); ++i) {
        const double end = i + 1 < run.shares.size() ? run.shares[i + 1].first : to;
        sum += run.shares[i].second * std::max(0.0, std::min(end, to) - std::max(run.shares[i].first, from));
      }
      return to > from ? sum / (to - from) : 0;
    };
    constexpr double kTimes[] = {.5, 2, 3}, kAt = .2, kLoose = 2.5;
    double missed[3] = {}, before[3] = {}, after[3] = {};
    for (uint32_t job = 0; job < kJockeyJobs; ++job) {
      const Learned& l = learned[job];
      const Day day = DayOf(l, c.seed, 200 + job);
      const double deadline = std::max(kLoose * l.earliest, 2 * day.deadline), at = kAt * deadline;
      const auto run = [&](double changed) {
        return RunOne(NoisyCluster(day.job, "fair,jockey", 1000 * c.seed + 300 + job),
                      {deadline, at, changed, l.prediction});
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

// Section 5.5 of the paper, of which papers.md has no numbers.
Figure JockeySensitivity() {
  struct Variant {
    const char* name;
    const char* list;
    sched::Indicator indicator;
  };
  static constexpr auto kDefault = sched::Indicator::kTotalWorkWithQueueing;
  static constexpr Variant kVariants[] = {
      {"as it is", "fair,jockey", kDefault},
      {"no hysteresis, no dead zone", "fair,jockey(hysteresis=1,dead_zone=0)", kDefault},
      {"no slack", "fair,jockey(slack=1)", kDefault},
      {"five periods", "fair,jockey(period=5)", kDefault},
      {"indicator CP", "fair,jockey", sched::Indicator::kCriticalPath},
      {"indicator minstage", "fair,jockey", sched::Indicator::kMinStage}};
  static constexpr uint32_t kFewer = 42;
  Figure f{"sensitivity", "the first 42 of the 94 runs with other parameters", {}, nullptr};
  for (const Variant& v : kVariants) {
    f.lines.push_back({std::string(v.name) + ": missed of 42"});
    f.lines.push_back({std::string(v.name) + ": above the oracle, %"});
  }
  f.run = [](const RunContext& c) -> Result<std::vector<double>> {
    std::vector<double> out;
    for (const Variant& v : kVariants) {
      MR_ASSIGN_OR_RETURN(const std::vector<Learned> learned, Learn(c.seed, v.indicator));
      MR_ASSIGN_OR_RETURN(const Outcome o, Runs(learned, v.list, c.seed, kFewer));
      out.push_back(o.missed);
      out.push_back(o.above);
    }
    return out;
  };
  return f;
}

}  // namespace mr::sim
