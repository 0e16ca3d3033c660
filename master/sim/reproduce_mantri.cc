// Mantri (Ananthanarayanan et al., OSDI 2010): job and phase completion on recorded jobs, what it costs, and the
// cross-checks of papers.md 2.3 and 2.6.
#include <algorithm>
#include <cmath>

#include "common/base/rng.h"
#include "master/sched/policies/rack_shares.h"
#include "master/sim/mantri_setups.h"
#include "master/sim/reproduce.h"
#include "master/sim/simulation.h"

namespace mr::sim {

namespace {

// Lists that are compared; the first is what gains are measured against.
constexpr const char* kLists[] = {"fifo", "fifo,mantri_restart", "fifo,late", "fifo,hadoop_speculation",
                                  "fifo,dryad_speculation"};
constexpr const char* kListNames[] = {"none", "Mantri", "LATE", "Hadoop", "Dryad"};
constexpr size_t kListCount = std::size(kLists);
constexpr double kReportsPerLife = 20, kOffersPerLife = 100;

double MedianOf(std::vector<double> v) {
  if (v.empty()) return 0;
  std::sort(v.begin(), v.end());
  return (v[(v.size() - 1) / 2] + v[v.size() / 2]) / 2;
}

double MedianOf(const std::vector<float>& v) { return MedianOf(std::vector<double>(v.begin(), v.end())); }

struct RanAlone {
  double seconds = 0, slot_seconds = 0;
};

// The job alone, on as many slots as its largest stage has tasks over `waves`.
Result<RanAlone> RunAlone(JobModel job, const char* list, double waves, uint64_t seed) {
  Experiment e;
  e.cluster.racks.push_back({});
  WorkerSpec worker;
  worker.slots.total = 1;
  double most = 1, life = 1e18;
  for (const StageModel& s : job.stages) {
    most = std::max(most, static_cast<double>(s.tasks));
    if (!s.durations.empty()) life = std::min(life, std::max(.1, MedianOf(s.durations)));
  }
  e.cluster.workers.assign(static_cast<size_t>(std::ceil(most / waves)), worker);
  job.submit = 0;
  e.jobs = {std::move(job)};
  e.tasks = Exact();
  e.tasks.report_period = FromSeconds(life / kReportsPerLife);
  e.offer_period = FromSeconds(life / kOffersPerLife);
  e.policies = list;
  e.seed = seed;
  Simulation run(std::move(e));
  const std::string wrong = run.Run(nullptr);
  if (!wrong.empty()) return Internal("the simulation stopped " + wrong);
  return RanAlone{run.jobs()[0].ended, run.totals().busy};
}

// One phase as a job of its own.
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

// Its phases one after the other: a recorded reduce's time holds its wait for the maps already.
Result<RanAlone> RunPhases(const JobModel& job, const char* list, double waves, uint64_t seed) {
  RanAlone sum;
  for (size_t s = 0; s < job.stages.size(); ++s) {
    MR_ASSIGN_OR_RETURN(const RanAlone ran, RunAlone(PhaseAlone(job.stages[s]), list, waves, seed * 100 + s));
    sum.seconds += ran.seconds;
    sum.slot_seconds += ran.slot_seconds;
  }
  return sum;
}

// Each task that is slower than its phase's median takes the median.
JobModel Ideal(JobModel job) {
  for (StageModel& s : job.stages) {
    const float median = static_cast<float>(MedianOf(s.durations));
    for (float& d : s.durations) d = std::min(d, median);
  }
  return job;
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

// Median reductions of completion in percent: the ideal, then each list but the first. And slot-seconds of each
// list as a share of those of the first, over all jobs.
struct Gains {
  std::vector<double> percent, mean, slots;  // mean: of the sum of all completions
};

Result<Gains> GainsOf(const std::vector<JobModel>& jobs, double waves, uint64_t seed) {
  std::vector<std::vector<double>> gains(kListCount);
  std::vector<double> slots(kListCount, 0), sums(kListCount, 0);  // sums[0]: the ideal's
  double all = 0;
  for (size_t j = 0; j < jobs.size(); ++j) {
    double none = 0;
    for (size_t l = 0; l < kListCount; ++l) {
      MR_ASSIGN_OR_RETURN(const RanAlone ran, RunPhases(jobs[j], kLists[l], waves, seed * 1000 + j));
      if (l == 0) all += none = ran.seconds;
      else gains[l].push_back(100 * (1 - ran.seconds / none)), sums[l] += ran.seconds;
      slots[l] += ran.slot_seconds;
    }
    MR_ASSIGN_OR_RETURN(const RanAlone ideal, RunPhases(Ideal(jobs[j]), kLists[0], waves, seed * 1000 + j));
    gains[0].push_back(100 * (1 - ideal.seconds / none));
    sums[0] += ideal.seconds;
  }
  Gains out;
  for (const auto& g : gains) out.percent.push_back(MedianOf(g));
  for (const double sum : sums) out.mean.push_back(100 * (1 - sum / all));
  for (size_t l = 1; l < kListCount; ++l) out.slots.push_back(slots[l] / slots[0]);
  return out;
}

std::vector<Line> GainLines(const std::string& of, double ideal, Line mantri, Line slots) {
  std::vector<Line> lines = {{"ideal, " + of + ", %", ideal}, std::move(mantri)};
  for (size_t l = 2; l < kListCount; ++l) lines.push_back({std::string(kListNames[l]) + ", " + of + ", %"});
  lines.push_back({"ideal, mean completion, %"});
  for (size_t l = 1; l < kListCount; ++l) lines.push_back({std::string(kListNames[l]) + ", mean completion, %"});
  lines.push_back(std::move(slots));
  for (size_t l = 2; l < kListCount; ++l) lines.push_back({std::string(kListNames[l]) + " / none, slot-seconds"});
  return lines;
}

std::vector<double> Flat(const Gains& g) {
  std::vector<double> out = g.percent;
  out.insert(out.end(), g.mean.begin(), g.mean.end());
  out.insert(out.end(), g.slots.begin(), g.slots.end());
  return out;
}

constexpr char kOneWave[] =
    "phases run in one wave: t_new is known once three tasks have finished, and by then a straggler of less than twice the "
    "median has no more left than a new attempt takes (five of these jobs have 500 equal tasks and one of 1.9 times); in "
    "others one reduce is most of the job";
constexpr char kRumenFile[] = "mumak19_jobs.tsv", kGoogleFile[] = "GOOG_subtrace.first6000jobs.tr";

Figure JobsOfRumen() {
  Figure f{"jobs", "completion of recorded MapReduce jobs, each alone, one wave", {}, nullptr};
  f.lines = GainLines("median job", 43, {"Mantri, median job, %", 32, 20, kNoBound, kOneWave}, {"Mantri / none, slot-seconds", kNoNumber, 0, 1});
  f.run = [](const RunContext& c) -> Result<std::vector<double>> {
    MR_ASSIGN_OR_RETURN(const auto jobs, Jobs(c, kRumenFile, "generate:mumak", 1));
    MR_ASSIGN_OR_RETURN(const Gains gains, GainsOf(jobs, 1, c.seed));
    return Flat(gains);
  };
  return f;
}

Figure Phases(const std::string& id, double waves) {
  Figure f{id, "phases of these jobs, each alone, " + std::string(waves > 1 ? "on half as many slots as it has tasks" : "one wave"), {}, nullptr};
  f.lines = GainLines("median phase", kNoNumber, {"Mantri, median phase, %"}, {"Mantri / none, slot-seconds"});
  f.run = [waves](const RunContext& c) -> Result<std::vector<double>> {
    MR_ASSIGN_OR_RETURN(const auto jobs, Jobs(c, kRumenFile, "generate:mumak", 1));
    std::vector<JobModel> phases;
    for (const JobModel& job : jobs) {
      for (const StageModel& s : job.stages) {
        if (s.tasks > 1 && !s.durations.empty()) phases.push_back(PhaseAlone(s));
      }
    }
    MR_ASSIGN_OR_RETURN(const Gains gains, GainsOf(phases, waves, c.seed));
    return Flat(gains);
  };
  return f;
}

Figure JobsOfGoogle() {
  Figure f{"google", "jobs of more than 50 tasks of Google's cell, each alone, one wave", {}, nullptr};
  f.lines = GainLines("median job", kNoNumber, {"Mantri, median job, %"}, {"Mantri / none, slot-seconds", kNoNumber, 0, 1});
  f.lines.push_back({"Mantri / ideal, gain in mean completion", kNoNumber, .5, kNoBound, kOneWave});
  f.run = [](const RunContext& c) -> Result<std::vector<double>> {
    MR_ASSIGN_OR_RETURN(auto jobs, Jobs(c, kGoogleFile, "generate:google", 50));
    constexpr size_t kMost = 200;  // in their order, so that five seeds take minutes
    if (jobs.size() > kMost) jobs.resize(kMost);
    *c.used += ", " + std::to_string(jobs.size()) + " jobs";
    Gains gains;
    MR_ASSIGN_OR_RETURN(gains, GainsOf(jobs, 1, c.seed));
    std::vector<double> out = Flat(gains);
    out.push_back(gains.mean[1] / gains.mean[0]);
    return out;
  };
  return f;
}

// papers.md 2.6: 1000 nodes of one slot, 1000 tasks of 15 s, 2 % of the nodes ten times slower.
Figure SlowNodes() {
  Figure f{"slownodes", "1000 tasks on 1000 nodes of which 20 are ten times slower", {}, nullptr};
  f.lines = {Within("none, s", 185.5, .1), Within("backups from 95 %, s", 37.5, .1), Within("LATE, s", 30, .1, "copies begin at 15 s here, and the slowest of twenty takes 18 s"),
             {"Mantri, s", 30, 0, 33, "does not wait for a task to be 15 s old, as LATE does here"},
             Within("LATE, copies", 100, .2), Within("Mantri, copies", 20, .001),
             {"Mantri / none, slot-seconds", 15850.0 / 18088, 0, .95}};
  f.run = [](const RunContext& c) -> Result<std::vector<double>> {
    std::vector<double> seconds, copies, busy;
    for (const char* list : {"fifo", "fifo,dryad_speculation", "fifo,late(min_age=15s)", "fifo,mantri_restart"}) {
      Experiment e;
      e.cluster.racks.push_back({});
      WorkerSpec worker;
      worker.slots.total = 1;
      e.cluster.workers.assign(1000, worker);
      for (size_t w = 7; w < 1000; w += 50) e.cluster.workers[w].speed = .1;
      e.jobs = {MapReduce(0, "tasks", 1000, 1'000'000'000, 0, 0, 1000)};
      Rng rng = Rng::Stream(c.seed, "durations");
      for (int t = 0; t < 1000; ++t) {
        double normal = -6;
        for (int k = 0; k < 12; ++k) normal += rng.Uniform();
        e.jobs[0].stages[0].durations.push_back(static_cast<float>(15 * std::exp(.1 * normal)));
      }
      e.tasks = Exact();
      e.policies = list;
      e.seed = c.seed;
      Simulation run(std::move(e));
      const std::string wrong = run.Run(nullptr);
      if (!wrong.empty()) return Internal("the simulation stopped " + wrong);
      seconds.push_back(run.jobs()[0].ended);
      copies.push_back(static_cast<double>(run.totals().copies));
      busy.push_back(run.totals().busy);
    }
    return std::vector<double>{seconds[0], seconds[1], seconds[2], seconds[3], copies[2], copies[3], busy[3] / busy[0]};
  };
  return f;
}

Figure Placement() {
  Figure f{"placement", "three racks that hold 80, 10 and 10 of a shuffle, equal links", {}, nullptr};
  f.lines = {Within("cost of the best shares", 16, 1e-6), Within("share of the first rack", .8, 1e-6),
             Within("cost of equal shares", 160.0 / 3, 1e-6)};
  f.run = [](const RunContext&) -> Result<std::vector<double>> {
    const std::vector<sched::RackLoad> racks = {{80}, {10}, {10}};
    const std::vector<double> best = sched::BestShares(racks);
    return std::vector<double>{sched::ShuffleCost(racks, best), best[0], sched::ShuffleCost(racks, {1.0 / 3, 1.0 / 3, 1.0 / 3})};
  };
  return f;
}

Experiment TwoPercentLost(const std::string& policies, uint64_t seed) { return LossyOutputs(policies, .02, seed); }

// Mean seconds of a job under the first list, and by how much the others shorten it.
Figure Ablation(const std::string& id, const std::string& what, Experiment (*setup)(const std::string&, uint64_t),
                std::vector<std::string> lists, std::vector<Line> lines) {
  Figure f{id, what, std::move(lines), nullptr};
  f.run = [setup, lists](const RunContext& c) -> Result<std::vector<double>> {
    std::vector<double> out;
    double first = 0, cross = 0;
    for (size_t l = 0; l < lists.size(); ++l) {
      Simulation run(setup(lists[l], c.seed));
      const std::string wrong = run.Run(nullptr);
      if (!wrong.empty()) return Internal("the simulation stopped " + wrong);
      double mean = 0;
      for (const JobResult& job : run.jobs()) mean += (job.ended - job.submitted) / static_cast<double>(run.jobs().size());
      if (l == 0) first = mean, cross = run.totals().cross_rack_bytes;
      out.push_back(l == 0 ? mean : 100 * (1 - mean / first));
      if (l > 0) out.push_back(run.totals().cross_rack_bytes / cross);
    }
    return out;
  };
  return f;
}

}  // namespace

Study MantriStudy() {
  Study s{"mantri", "Mantri: Ananthanarayanan et al., Reining in the Outliers in Map-Reduce Clusters, OSDI 2010", {}, {}};
  s.parameters = {
      {"gamma, delta, alpha, rho", "3, 0.25, 2, 3", "papers.md 2.1"},
      {"Delta", "min(10 s, life / 10)", "papers.md 2.1"},
      {"first attempts", "take their recorded durations", "the trace, or the generator's mix measured on it"},
      {"other attempts", "take one of their phase's, by chance", "the phase's own distribution; no straggler factors are added"},
      {"input", "progress is counted alike for all tasks", "a copy's time is drawn whatever its task reads: no skew in this model"},
      {"ideal", "each task slower than its phase's median takes the median", "Dolly's potential, papers.md 1.4"},
      {"slots", "one per task of a phase; half as many in waves", "mumak19: as many of a phase ran at once, within a tenth, for 13 of 16 phases of 30 tasks or more"},
      {"phases", "one after the other", "recorded reduce times hold the wait for the maps"},
      {"reports, offers", "20 and 100 per median task", "5 % steps (worker/daemon/progress.h); a guess"},
      {"baselines", "with their own papers' thresholds", "late.h and its neighbours"}};
  s.figures = {JobsOfRumen(), Phases("phases", 1), Phases("waves", 2), JobsOfGoogle(), SlowNodes(), Placement(),
               Ablation("racks", "a shuffle of 4 GB over three uneven racks with narrow links", &UnevenRacks,
                        {"fair", "fair,mantri_placement"},
                        {{"none, s"}, {"with placement, shorter by %", 60, 30, kNoBound},
                         {"with placement / none, bytes across racks"}}),
               Ablation("losses", "80 maps and 200 reduces; 2 % of outputs cannot be read", &TwoPercentLost,
                        {"fair", "fair,mantri_replication", "fair,mantri_recompute", "fair,mantri_replication,mantri_recompute"},
                        {{"none, s"}, {"replication, shorter by %", 40, 0, kNoBound}, {"replication / none, bytes across racks"},
                         {"recompute, shorter by %"}, {"recompute / none, bytes across racks"},
                         {"both, shorter by %"}, {"both / none, bytes across racks"}})};
  return s;
}

}  // namespace mr::sim
