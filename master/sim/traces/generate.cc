// Generates workloads: `generate:MIX[,jobs=N][,gap=SECONDS]`.
//
// facebook, bing: sizes in the bins of Dolly (NSDI'13, Table 3). The task model draws durations and straggler factors
// (model.h). recurring: the same, with four further jobs that recur, each time with other input and a deadline. mumak,
// google: phases with recorded widths, durations and straggler factors (generate_measured.cc).
#include <algorithm>
#include <charconv>
#include <cmath>

#include "common/base/rng.h"
#include "common/base/text.h"
#include "master/sched/job_bins.h"
#include "master/sim/engine/model.h"
#include "master/sim/traces/gaps.h"
#include "master/sim/traces/generate_measured.h"

namespace mr::sim {

namespace {

struct Mix {
  const char* name;
  uint32_t jobs;          // default of jobs=N
  double gap, variation;  // between submits: mean in seconds (default of gap=S), coefficient of variation
  double map_only;        // share of jobs
  double bins[5];         // shares of jobs of 1-10, 11-50, 51-150, 151-500 and more tasks
};
// Bin 1 is Dolly's; the other bins split the rest by guess. Gaps and map-only jobs are measured in SWIM's FB-2009_0.
// Bing's are unknown and taken to be the same. mumak and google: generate_measured.cc.
constexpr Mix kMixes[] = {
    {"facebook", 1000, 14.7, 3.7, .75, {.82, .06, .08, .03, .01}},
    {"bing", 1000, 14.7, 3.7, .75, {.61, .10, .15, .12, .02}},
    {"recurring", 200, 14.7, 3.7, .75, {.82, .06, .08, .03, .01}},
    {"mumak", 90, 98.6, 2.05, 0, {}},
    {"google", 1000, 14.5, 20.8, 0, {}},
};
// Sizes inside a bin are log-uniform, a guess. In the last bin they are Pareto with FB-2009_0's tail index, at most
// 5,000 tasks: one job must not be all of the workload. Reduces are an eighth of the tasks, a guess.
constexpr auto& kBinsOfMix = sched::kBinEnds;
constexpr double kFrom[] = {1, kBinsOfMix[0] + 1, kBinsOfMix[1] + 1, kBinsOfMix[2] + 1, kBinsOfMix[3] + 1};
constexpr double kTo[] = {kBinsOfMix[0], kBinsOfMix[1], kBinsOfMix[2], kBinsOfMix[3], 5000}, kTail = .75;
constexpr uint32_t kTasksPerReduce = 8;
constexpr uint64_t kTaskBytes = uint64_t{128} << 20;

uint32_t Tasks(Rng& rng, const Mix& mix) {
  double u = rng.Uniform();
  size_t bin = 0;
  while (bin < 4 && u >= mix.bins[bin]) u -= mix.bins[bin++];
  const double size = bin == 4 ? std::min(rng.Pareto(kFrom[4], kTail), kTo[4])
                               : kFrom[bin] * std::exp(rng.Uniform() * std::log((kTo[bin] + 1) / kFrom[bin]));
  return static_cast<uint32_t>(std::min(size, kTo[bin]));
}

JobModel BinJob(Rng& rng, uint32_t number, const Mix& mix) {
  const uint32_t tasks = Tasks(rng, mix);
  const uint32_t reduces = tasks > 1 && rng.Uniform() >= mix.map_only ? std::max(1u, tasks / kTasksPerReduce) : 0;
  const uint64_t input = (tasks - reduces) * kTaskBytes;
  return MapReduce(0, "g" + std::to_string(number), tasks - reduces, input, reduces, reduces * kTaskBytes,
                   reduces > 0 ? reduces * kTaskBytes : input);
}

// Guesses: a fifth of all jobs recur, in turn; the sizes; and up to a fifth of input more or less between runs. In
// Jockey (EuroSys'12) more than .4 of production runs recur. The deadline is a multiple of the least time of the job's
// longest path.
constexpr double kRecurs = .2, kOtherInput = .2, kDeadline = 5;
struct Recurring {
  const char* name;
  uint32_t maps, joins, reduces;
};
constexpr Recurring kRecurring[] = {
    {"hourly", 40, 20, 4}, {"index", 160, 40, 10}, {"report", 80, 80, 1}, {"model", 60, 30, 30}};

// A job of maps, then two stages that each read the whole stage before.
JobModel RecurringJob(Rng& rng, uint32_t number) {
  const Recurring& r = kRecurring[number % std::size(kRecurring)];
  const double times = 1 + kOtherInput * (2 * rng.Uniform() - 1);
  const auto maps = static_cast<uint32_t>(std::lround(times * r.maps));
  const auto bytes = static_cast<uint64_t>(times * kTaskBytes);
  JobModel job = MapReduce(0, r.name, maps, maps * kTaskBytes, r.joins, r.joins * bytes, r.reduces * bytes);
  StageModel last = job.stages[1];
  last.name = "report";
  last.tasks = r.reduces;
  last.bytes = last.output_bytes = r.reduces * bytes;
  last.inputs[0].upstream = 1;
  job.stages.push_back(std::move(last));
  const TaskModel costs;
  job.deadline = kDeadline * kTaskBytes * (costs.map_cost + 2 * (costs.sort_cost + costs.reduce_cost));
  job.queue = "recurring";
  return job;
}

// Guesses: four times the jobs in a day of the largest trace, and a time far below what Instant can hold.
constexpr double kMostJobs = 1'000'000, kMostSeconds = 1e9;

bool Parse(std::string_view text, double* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

double RandomGap(Rng& rng, double mean, double variation) {
  const double c2 = variation * variation;
  const double p = .5 * (1 + std::sqrt((c2 - 1) / (c2 + 1)));
  const double branch = rng.Uniform() < p ? p : 1 - p;
  return rng.Exponential(mean / (2 * branch));
}

Result<std::vector<JobModel>> Generate(const std::string& spec, uint64_t seed) {
  const Mix* mix = &kMixes[0];
  double count = 0, gap = 0;  // 0: the mix's value
  bool mixed = false;
  const size_t colon = spec.find(':');
  std::string_view rest = colon == std::string::npos ? std::string_view() : std::string_view(spec).substr(colon + 1);
  if (spec.substr(0, std::min(colon, spec.size())) != "generate") {
    return InvalidArgument("'" + spec + "' is not a workload; write a file, or generate:facebook");
  }
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    const auto known = std::find_if(std::begin(kMixes), std::end(kMixes), [&](const Mix& m) { return word == m.name; });
    const bool mixes = known != std::end(kMixes), jobs = word.starts_with("jobs="), gaps = word.starts_with("gap=");
    if ((mixes && mixed) || (jobs && count > 0) || (gaps && gap > 0)) {
      return InvalidArgument("workload '" + spec + "': '" + std::string(word) +
                             "' comes after another of its kind; leave one out");
    }
    mixed = mixed || mixes;
    const std::string here = "workload '" + spec + "': '" + std::string(word) + "': ";
    if (mixes) {
      mix = known;
    } else if (jobs) {
      const bool good = Parse(word.substr(5), &count) && count >= 1 && count <= kMostJobs && count == std::floor(count);
      if (!good) return InvalidArgument(here + "the number of jobs must be a whole number from 1 to 1000000");
    } else if (gaps) {
      const bool good = Parse(word.substr(4), &gap) && gap >= 1e-6 && gap <= kMostSeconds;
      if (!good) return InvalidArgument(here + "the mean gap must be from 0.000001 to 1000000000 seconds");
    } else {
      constexpr std::string_view kWords[] = {"facebook", "bing",   "recurring",  "mumak",
                                             "google",   "jobs=N", "gap=SECONDS"};
      return InvalidArgument("workload '" + spec + "': what is '" + std::string(word) +
                             "'? There are facebook, bing, recurring, mumak, google, jobs=N and gap=SECONDS" +
                             DidYouMean(word, kWords));
    }
  }
  if (count < 1) count = mix->jobs;
  if (gap <= 0) gap = mix->gap;
  if (std::floor(count) * gap > kMostSeconds) {
    return InvalidArgument("workload '" + spec +
                           "': so many jobs with such gaps arrive over more than 1000000000 seconds; " +
                           "ask for fewer jobs or smaller gaps");
  }
  Rng rng = Rng::Stream(seed, "workload");
  const std::string_view name = mix->name;
  std::vector<uint32_t> round;
  uint32_t recurring = 0;
  std::vector<JobModel> jobs;
  double at = 0;
  for (uint32_t j = 0; j < static_cast<uint32_t>(count); ++j) {
    if (j > 0) at += RandomGap(rng, gap, mix->variation);
    const bool recurs = name == "recurring" && rng.Uniform() < kRecurs;
    if (recurs)
      jobs.push_back(RecurringJob(rng, recurring++));
    else if (name == "mumak")
      jobs.push_back(MumakJob(rng, j, &round));
    else
      jobs.push_back(name == "google" ? GoogleJob(rng, j) : BinJob(rng, j, *mix));
    jobs.back().submit = at;
  }
  return jobs;
}

}  // namespace mr::sim
