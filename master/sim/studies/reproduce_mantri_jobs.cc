// Completion of recorded jobs and phases, and its cost, under Mantri and the policies that Mantri is compared with.
#include <algorithm>
#include <cmath>

#include "common/base/rng.h"
#include "master/sim/engine/simulation.h"
#include "master/sim/studies/reproduce_mantri.h"

namespace mr::sim {

namespace {

// The compared lists. Gains are relative to the first.
constexpr const char* kLists[] = {"fifo", "fifo,mantri_restart", "fifo,late", "fifo,hadoop_speculation",
                                  "fifo,dryad_speculation"};
constexpr const char* kListNames[] = {"none", "Mantri", "LATE", "Hadoop", "Dryad"};
constexpr size_t kListCount = std::size(kLists);
// Delta, the time between two reports: min(10 s, life / 10), and at least life / 100, else five seeds of a figure take
// hours.
constexpr double kLongestReport = 10, kReportsPerLife = 10, kMostReports = 100, kOffersPerLife = 100;
double ReportSeconds(double life) {
  return std::max(life / kMostReports, std::min(kLongestReport, life / kReportsPerLife));
}

double MedianOf(std::vector<double> v) {
  if (v.empty()) return 0;
  std::sort(v.begin(), v.end());
  return (v[(v.size() - 1) / 2] + v[v.size() / 2]) / 2;
}

double MedianOf(const std::vector<float>& v) { return MedianOf(std::vector<double>(v.begin(), v.end())); }

struct RanAlone {
  double seconds = 0, slot_seconds = 0;
};

// Slots of a job that is alone: `each` per task of its largest stage, at most `most`, at least one per task.
struct Room {
  double each = 1, most = 0;
  size_t Slots(double tasks) const {
    return static_cast<size_t>(std::ceil(each < 1 ? each * tasks : std::max(tasks, std::min(each * tasks, most))));
  }
};
// A task has at most three attempts, so more slots would change nothing. These are the recorded clusters.
constexpr double kMostAttempts = 3;
constexpr Room kMumak{kMostAttempts, 1536 * 4}, kGoogle{kMostAttempts, 12500}, kTight{1, 0}, kHalf{.5, 0};

Result<RanAlone> RunAlone(JobModel job, const char* list, const Room& room, uint64_t seed) {
  Experiment e;
  e.cluster.racks.push_back({});
  WorkerSpec worker;
  worker.slots.total = 1;
  double most = 1, life = 1e18;
  for (const StageModel& s : job.stages) {
    most = std::max(most, static_cast<double>(s.tasks));
    if (!s.durations.empty()) life = std::min(life, std::max(.1, MedianOf(s.durations)));
  }
  e.cluster.workers.assign(room.Slots(most), worker);
  job.submit = 0;
  e.jobs = {std::move(job)};
  e.tasks = Exact();
  e.tasks.report_period = FromSeconds(ReportSeconds(life));
  e.tasks.report_share = 0;
  e.offer_period = FromSeconds(life / kOffersPerLife);
  e.policies = list;
  e.seed = seed;
  Simulation run(std::move(e));
  const std::string wrong = run.Run(nullptr);
  if (!wrong.empty()) return Internal("the simulation stopped " + wrong);
  return RanAlone{run.jobs()[0].ended, run.totals().busy};
}

// Makes one phase a job of its own.
JobModel PhaseAlone(const StageModel& stage) {
  JobModel job;
  job.name = stage.name;
  job.stages = {stage};
  job.stages[0].inputs = {sched::StageInput{}};
  job.stages[0].kind = sched::SlotKind::kMap;
  job.stages[0].shares.clear();
  job.stages[0].task_bytes.clear();
  job.stages[0].bytes = 0;
  return job;
}

// Runs a job's phases one after the other: a recorded reduce's time already includes its wait for the maps.
Result<RanAlone> RunPhases(const JobModel& job, const char* list, const Room& room, uint64_t seed) {
  RanAlone sum;
  for (size_t s = 0; s < job.stages.size(); ++s) {
    MR_ASSIGN_OR_RETURN(const RanAlone ran, RunAlone(PhaseAlone(job.stages[s]), list, room, seed * 100 + s));
    sum.seconds += ran.seconds;
    sum.slot_seconds += ran.slot_seconds;
  }
  return sum;
}

// Lets each task that is slower than its phase's median take the median.
JobModel Ideal(JobModel job) {
  for (StageModel& s : job.stages) {
    const float median = static_cast<float>(MedianOf(s.durations));
    for (float& d : s.durations) d = std::min(d, median);
  }
  return job;
}

// Returns a bound that no policy can beat, with room for all attempts. An attempt's end is known from its first report
// on. Then three attempts of the task run, and all but the best are drawn anew at each report.
double BestSeconds(const JobModel& job, uint64_t seed) {
  double sum = 0;
  Rng rng = Rng::Stream(seed, "best");
  for (const StageModel& s : job.stages) {
    const double report = std::max(1e-3, ReportSeconds(MedianOf(s.durations)));
    double stage = 0;
    for (double end : s.durations) {
      for (double at = report; at < end; at += report) {
        for (double attempts = 1; attempts < kMostAttempts; ++attempts) {
          end = std::min(end, at + s.durations[rng.Below(s.durations.size())]);
        }
      }
      stage = std::max(stage, end);
    }
    sum += stage;
  }
  return sum;
}

double MeanOf(const std::vector<double>& v) {
  double sum = 0;
  for (const double x : v) sum += x / static_cast<double>(v.size());
  return sum;
}

Result<std::vector<JobModel>> Jobs(const RunContext& c, const char* trace, const char* mix, uint32_t more_than) {
  Result<std::vector<JobModel>> jobs = c.data.empty() ? NotFound("no data") : LoadWorkload(trace, c.data, c.seed);
  *c.used = jobs.ok() ? trace : std::string(mix) + ", made by the generator (" + trace + " was not found)";
  if (!jobs.ok() && jobs.status().code() != Code::kNotFound) return jobs.status();
  if (!jobs.ok()) jobs = Generate(mix, c.seed);
  MR_RETURN_IF_ERROR(jobs.status());
  std::vector<JobModel> kept;
  for (JobModel& job : *jobs) {
    const auto wide = [&](const StageModel& s) { return s.tasks > more_than && !s.durations.empty(); };
    if (std::any_of(job.stages.begin(), job.stages.end(), wide)) kept.push_back(std::move(job));
  }
  return kept;
}

// Reductions of completion in percent: ideal, best possible, then each list but the first. Also the slot-seconds of
// each list as a share of the first list's, over all jobs.
constexpr const char* kGainNames[] = {"ideal", "best possible", "Mantri", "LATE", "Hadoop", "Dryad"};
constexpr size_t kGains = std::size(kGainNames), kMantriGain = 2;
struct Gains {
  std::vector<double> median, mean, sum, slots;  // over jobs; sum: of all completions
};

Result<Gains> GainsOf(const std::vector<JobModel>& jobs, const Room& room, uint64_t seed) {
  std::vector<std::vector<double>> gains(kGains);
  std::vector<double> slots(kListCount, 0), sums(kGains, 0);
  double all = 0;
  for (size_t j = 0; j < jobs.size(); ++j) {
    const uint64_t luck = seed * 1000 + j;
    std::vector<double> seconds(kGains, 0);
    double none = 0;
    for (size_t l = 0; l < kListCount; ++l) {
      MR_ASSIGN_OR_RETURN(const RanAlone ran, RunPhases(jobs[j], kLists[l], room, luck));
      (l == 0 ? none : seconds[l + 1]) = ran.seconds;
      slots[l] += ran.slot_seconds;
    }
    MR_ASSIGN_OR_RETURN(const RanAlone ideal, RunPhases(Ideal(jobs[j]), kLists[0], room, luck));
    seconds[0] = ideal.seconds;
    seconds[1] = BestSeconds(jobs[j], luck);
    all += none;
    for (size_t g = 0; g < kGains; ++g) {
      gains[g].push_back(100 * (1 - seconds[g] / none));
      sums[g] += seconds[g];
    }
  }
  Gains out;
  for (size_t g = 0; g < kGains; ++g) {
    out.median.push_back(MedianOf(gains[g]));
    out.mean.push_back(MeanOf(gains[g]));
    out.sum.push_back(100 * (1 - sums[g] / all));
  }
  for (size_t l = 1; l < kListCount; ++l) out.slots.push_back(slots[l] / slots[0]);
  return out;
}

// Returns the lines. The arguments give the paper's number or the band of the ideal's median, Mantri's median, and its
// slot-seconds.
std::vector<Line> GainLines(const std::string& of, double ideal, Line mantri, Line slots) {
  std::vector<Line> lines;
  for (const char* name : kGainNames) lines.push_back({std::string(name) + ", median " + of + ", %"});
  lines[0].paper = ideal;
  mantri.what = lines[kMantriGain].what;
  lines[kMantriGain] = std::move(mantri);
  for (const char* name : kGainNames) lines.push_back({std::string(name) + ", mean over them, %"});
  for (const char* name : kGainNames) lines.push_back({std::string(name) + ", sum of completions, %"});
  for (size_t l = 1; l < kListCount; ++l) lines.push_back({std::string(kListNames[l]) + " / none, slot-seconds"});
  slots.what = "Mantri / none, slot-seconds";
  lines[3 * kGains] = std::move(slots);
  return lines;
}

std::vector<double> Flat(const Gains& g) {
  std::vector<double> out = g.median;
  for (const auto* more : {&g.mean, &g.sum, &g.slots}) out.insert(out.end(), more->begin(), more->end());
  return out;
}

constexpr char kRumenFile[] = "mumak19_jobs.tsv", kGoogleFile[] = "GOOG_subtrace.first6000jobs.tr";

Figure Phases(const std::string& id, const Room& room, const std::string& on) {
  Figure f{id, "phases of these jobs, each alone, on " + on, {}, nullptr};
  f.lines = GainLines("phase", kNoNumber, {}, {});
  f.run = [room](const RunContext& c) -> Result<std::vector<double>> {
    MR_ASSIGN_OR_RETURN(const auto jobs, Jobs(c, kRumenFile, "generate:mumak", 1));
    std::vector<JobModel> phases;
    for (const JobModel& job : jobs) {
      for (const StageModel& s : job.stages) {
        if (s.tasks > 1 && !s.durations.empty()) phases.push_back(PhaseAlone(s));
      }
    }
    MR_ASSIGN_OR_RETURN(const Gains gains, GainsOf(phases, room, c.seed));
    return Flat(gains);
  };
  return f;
}

}  // namespace

Figure MantriJobsOfRumen() {
  Figure f{"jobs", "completion of recorded MapReduce jobs, each alone on the recorded cluster", {}, nullptr};
  f.lines = GainLines("job", 43, {"", 32, 20, kNoBound}, {"", kNoNumber, 0, 1});
  f.run = [](const RunContext& c) -> Result<std::vector<double>> {
    MR_ASSIGN_OR_RETURN(const auto jobs, Jobs(c, kRumenFile, "generate:mumak", 1));
    MR_ASSIGN_OR_RETURN(const Gains gains, GainsOf(jobs, kMumak, c.seed));
    return Flat(gains);
  };
  return f;
}

Figure MantriPhases() { return Phases("phases", kTight, "as many slots as it has tasks"); }

Figure MantriWaves() { return Phases("waves", kHalf, "half as many slots as it has tasks"); }

Figure MantriJobsOfGoogle() {
  Figure f{"google", "jobs of more than 50 tasks of Google's cell, each alone on it", {}, nullptr};
  f.lines = GainLines("job", kNoNumber, {}, {"", kNoNumber, 0, 1});
  f.lines.push_back({"Mantri / ideal, gain of the median job"});
  f.lines.push_back({"best possible / ideal, gain of the median job"});
  f.lines.push_back({"Mantri / ideal, mean gain over jobs", kNoNumber, .5, kNoBound});
  f.lines.push_back({"Mantri / ideal, gain of the sum", kNoNumber, .5, kNoBound});
  f.run = [](const RunContext& c) -> Result<std::vector<double>> {
    MR_ASSIGN_OR_RETURN(auto jobs, Jobs(c, kGoogleFile, "generate:google", 50));
    constexpr size_t kMost = 150;  // evenly spaced, so that five seeds take minutes
    const size_t all = jobs.size(), step = (all + kMost - 1) / kMost;
    for (size_t j = 0; step > 1 && j * step < all; ++j) {
      if (j > 0) jobs[j] = std::move(jobs[j * step]);
    }
    if (step > 1) jobs.resize((all + step - 1) / step);
    *c.used += ", " + std::to_string(jobs.size()) + " of " + std::to_string(all) + " jobs";
    MR_ASSIGN_OR_RETURN(const Gains gains, GainsOf(jobs, kGoogle, c.seed));
    std::vector<double> out = Flat(gains);
    out.push_back(gains.median[kMantriGain] / gains.median[0]);
    out.push_back(gains.median[1] / gains.median[0]);
    out.push_back(gains.mean[kMantriGain] / gains.mean[0]);
    out.push_back(gains.sum[kMantriGain] / gains.sum[0]);
    return out;
  };
  return f;
}

// All jobs at their recorded submits, as MapReduce jobs whose reduces wait for maps.
Figure MantriWholeTrace() {
  Figure f{"trace", "these jobs all together on 1536 workers of 4 slots", {}, nullptr};
  f.lines = {{"ideal, median job, %"},
             {"Mantri, median job, %"},
             {"ideal, sum of completions, %"},
             {"Mantri, sum of completions, %"},
             {"Mantri / none, slot-seconds"}};
  f.run = [](const RunContext& c) -> Result<std::vector<double>> {
    MR_ASSIGN_OR_RETURN(const auto jobs, Jobs(c, kRumenFile, "generate:mumak", 1));
    std::vector<std::vector<double>> seconds;
    std::vector<double> sums, busy;
    for (const bool ideal : {false, true, false}) {
      Experiment e;
      MR_ASSIGN_OR_RETURN(e.cluster, ParseCluster("1536x4"));
      for (const JobModel& job : jobs) e.jobs.push_back(ideal ? Ideal(job) : job);
      e.tasks = Exact();
      e.policies = kLists[seconds.size() == 2];
      e.seed = c.seed;
      Simulation run(std::move(e));
      const std::string wrong = run.Run(nullptr);
      if (!wrong.empty()) return Internal("the simulation stopped " + wrong);
      seconds.emplace_back();
      for (const JobResult& job : run.jobs()) seconds.back().push_back(job.ended - job.submitted);
      sums.push_back(MeanOf(seconds.back()));
      busy.push_back(run.totals().busy);
    }
    std::vector<double> out;
    for (const size_t r : {1, 2}) {
      std::vector<double> gains;
      for (size_t j = 0; j < jobs.size(); ++j) gains.push_back(100 * (1 - seconds[r][j] / seconds[0][j]));
      out.push_back(MedianOf(gains));
    }
    for (const size_t r : {1, 2}) out.push_back(100 * (1 - sums[r] / sums[0]));
    out.push_back(busy[2] / busy[0]);
    return out;
  };
  return f;
}

}  // namespace mr::sim
