// The Coupling Scheduler (Tan, Meng, Zhang, INFOCOM'13): its figures and tables whose numbers are known.
#include <algorithm>
#include <cstdio>
#include <map>
#include <numeric>

#include "master/sim/studies/coupling_setups.h"
#include "master/sim/studies/reproduce.h"

namespace mr::sim {

namespace {

constexpr double kPoints = 8;  // percentage points that a band may be below the paper's number

struct Ran {
  std::vector<double> seconds;  // per job, in the workload's order
  std::vector<double>
      starved;  // per job with reduces: mean minutes from its last map's end to the starts of later reduces
  std::vector<double> maps_end, first_reduce;  // minutes, per job with reduces
  double first_far = 0;                        // minutes until a map starts away from its input; 0: none did
  double mean = 0, mean_starved = 0, map_seconds = 0, local = 0, reduce_slot_seconds = 0;
};

double Mean(const std::vector<double>& v) {
  return v.empty() ? 0 : std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
}

double At(Instant t) { return static_cast<double>(t.ns) / 1e9; }

Result<Ran> RunIt(Experiment e) {
  std::vector<std::vector<std::vector<uint32_t>>> holders;
  for (const JobModel& job : e.jobs) holders.push_back(job.stages[0].preferred);
  struct Times {
    double maps_end = 0;
    std::vector<double> reduces;
  };
  std::map<uint32_t, Times> times;
  std::vector<double> maps;
  Ran ran;
  std::map<AttemptId, double> live;
  e.watch = [&](const sched::StampedEvent& event, const std::vector<sched::Decision>& decisions) {
    if (const auto* f = std::get_if<sched::AttemptFinished>(&event.event)) {
      const double took = At(event.at) - live[f->attempt];
      if (f->attempt.task.stage == 0) {
        times[f->attempt.task.job.seq].maps_end = At(event.at);
        maps.push_back(took);
      } else {
        ran.reduce_slot_seconds += took;
      }
    }
    for (const sched::Decision& d : decisions) {
      const auto* launch = std::get_if<sched::Launch>(&d);
      if (launch == nullptr) continue;
      live[launch->attempt] = At(event.at);
      const TaskId& task = launch->attempt.task;
      if (task.stage == 0 && ran.first_far == 0 && !holders[task.job.seq - 1].empty()) {
        const std::vector<uint32_t>& on = holders[task.job.seq - 1][task.task];
        if (std::find(on.begin(), on.end(), launch->worker.value - 1) == on.end()) ran.first_far = At(event.at) / 60;
      }
      if (launch->attempt.task.stage == 1) times[launch->attempt.task.job.seq].reduces.push_back(At(event.at));
    }
  };
  Simulation run(std::move(e));
  const std::string wrong = run.Run(nullptr);
  if (!wrong.empty()) return Internal("the simulation stopped " + wrong);
  for (const JobResult& job : run.jobs()) ran.seconds.push_back(job.ended - job.submitted);
  for (const auto& [seq, t] : times) {
    if (t.reduces.empty()) continue;
    double sum = 0, n = 0;
    for (const double at : t.reduces) {
      if (at > t.maps_end) sum += (at - t.maps_end) / 60, ++n;
    }
    ran.starved.push_back(n > 0 ? sum / n : 0);
    ran.maps_end.push_back(t.maps_end / 60);
    ran.first_reduce.push_back(*std::min_element(t.reduces.begin(), t.reduces.end()) / 60);
  }
  ran.mean = Mean(ran.seconds);
  ran.mean_starved = Mean(ran.starved);
  ran.map_seconds = Mean(maps);
  ran.local = 100 * run.totals().local_bytes / std::max(1.0, run.totals().read_bytes);
  return ran;
}

double Less(double ours, double base) { return 100 * (1 - ours / base); }

Line Shorter(const std::string& what, double paper, const std::string& because = "") {
  return {what, paper, paper - kPoints, kNoBound, because};
}

Figure Mix() {
  Figure f{"fig3", "22 jobs of Table IV on 15 nodes, data on 7", {}, nullptr};
  f.lines = {Shorter("jobs shorter by, %, mean over jobs", 39.1),
             {"mean completion shorter by, %"},
             {"fair / coupling, job 3", 12.8},
             {"of jobs 3, 6, 12 and 13, shorter by more than 70 %", 4},
             {"starvation, fair, minutes", 3.4},
             {"starvation, coupling / fair", kNoNumber, -kNoBound, 1},
             {"most that a job's starvation is above fair's, minutes", kNoNumber, -kNoBound, 5}};
  f.run = [](const RunContext& c) -> Result<std::vector<double>> {
    MR_ASSIGN_OR_RETURN(const Ran fair, RunIt(CouplingRun(15, 7, TableFour(), kFairGreedy, c.seed)));
    MR_ASSIGN_OR_RETURN(const Ran ours, RunIt(CouplingRun(15, 7, TableFour(), kCouples, c.seed)));
    double by_job = 0, above = -1e9, much = 0;
    for (const size_t j : {2, 5, 11, 12}) much += Less(ours.seconds[j], fair.seconds[j]) > 70;
    for (size_t j = 0; j < fair.seconds.size(); ++j) by_job += Less(ours.seconds[j], fair.seconds[j]);
    for (size_t j = 0; j < fair.starved.size(); ++j) above = std::max(above, ours.starved[j] - fair.starved[j]);
    return std::vector<double>{by_job / static_cast<double>(fair.seconds.size()),
                               Less(ours.mean, fair.mean),
                               fair.seconds[2] / ours.seconds[2],
                               much,
                               fair.mean_starved,
                               ours.mean_starved / fair.mean_starved,
                               above};
  };
  return f;
}

Figure Pairs(const std::string& id, const std::string& what, uint32_t nodes, uint32_t holders, double paper,
             double map_paper, std::function<std::vector<JobModel>(uint64_t)> jobs) {
  Figure f{id, what, {}, nullptr};
  f.lines = {Shorter("mean completion shorter by, %", paper),
             {"map times shorter by, %", map_paper},
             {"reduce slots held for less by, %"}};
  if (map_paper == map_paper) f.lines[1] = Shorter("map times shorter by, %", map_paper);
  f.run = [=](const RunContext& c) -> Result<std::vector<double>> {
    MR_ASSIGN_OR_RETURN(const Ran fair, RunIt(CouplingRun(nodes, holders, jobs(c.seed), kFairGreedy, c.seed)));
    MR_ASSIGN_OR_RETURN(const Ran ours, RunIt(CouplingRun(nodes, holders, jobs(c.seed), kCouples, c.seed)));
    return std::vector<double>{Less(ours.mean, fair.mean), Less(ours.map_seconds, fair.map_seconds),
                               Less(ours.reduce_slot_seconds, fair.reduce_slot_seconds)};
  };
  return f;
}

// Figures 1 and 2.
Figure TwoGreps() {
  Figure f{"fig1", "two Greps on 15 nodes, data on 7 (fig2: the slots that their reduces hold)", {}, nullptr};
  f.lines = {{"mean completion shorter by, %"},
             {"the first shorter by, %", kNoNumber, 0, kNoBound},
             {"the second shorter by, %", kNoNumber, 0, kNoBound},
             {"fair: the second one's maps end at, minutes", 3.8},
             {"fair: its first reduce starts at, minutes", 11.3},
             {"coupling: its first reduce starts at, minutes"},
             {"fair: no map starts away from its input before, minutes", 8.2},
             {"coupling: the same"},
             {"reduce slots held for less by, %", 50, 42, kNoBound}};
  f.run = [](const RunContext& c) -> Result<std::vector<double>> {
    MR_ASSIGN_OR_RETURN(const Ran fair, RunIt(CouplingRun(15, 7, GrepPair(), kFairGreedy, c.seed)));
    MR_ASSIGN_OR_RETURN(const Ran ours, RunIt(CouplingRun(15, 7, GrepPair(), kCouples, c.seed)));
    return std::vector<double>{Less(ours.mean, fair.mean),
                               Less(ours.seconds[0], fair.seconds[0]),
                               Less(ours.seconds[1], fair.seconds[1]),
                               fair.maps_end[1],
                               fair.first_reduce[1],
                               ours.first_reduce[1],
                               fair.first_far,
                               ours.first_far,
                               Less(ours.reduce_slot_seconds, fair.reduce_slot_seconds)};
  };
  return f;
}

// Table IV: the starvation of each job.
Figure Starvation() {
  struct Row {
    const char* job;
    double fair, coupling;
  };
  static constexpr Row kRows[] = {
      {"1 Grep", 0, 0},        {"2 Grep", 0, 0},     {"3 QMC", 6.1, 0},    {"4 WordCount", 4, 0}, {"5 Grep", 3.9, 0},
      {"6 Grep", 2.8, 0},      {"7 Grep", 2.8, 0},   {"8 Grep", 0, .2},    {"9 Grep", 0, 0},      {"10 Sort", 4.9, 4.5},
      {"11 Grep", 8.3, .9},    {"12 Grep", 8.6, .6}, {"13 Grep", 8.4, .2}, {"14 Sort", 5.3, 3.5}, {"15 Grep", 1, 0},
      {"16 WordCount", .1, 0}, {"17 Sort", .3, 5},   {"18 QMC", .3, 0},    {"19 Grep", 0, 0},     {"20 Sort", .5, 1.1},
      {"22 QMC", 0, 0}};
  Figure f{
      "table4", "22 jobs of Table IV: minutes from a job's last map to its reduces that start behind it", {}, nullptr};
  for (const Row& row : kRows) {
    f.lines.push_back({std::string(row.job) + ", fair", row.fair});
    f.lines.push_back({std::string(row.job) + ", coupling", row.coupling});
  }
  f.lines.push_back({"jobs above fair's by more than 5 minutes", 0, -kNoBound, 0});
  f.run = [](const RunContext& c) -> Result<std::vector<double>> {
    MR_ASSIGN_OR_RETURN(const Ran fair, RunIt(CouplingRun(15, 7, TableFour(), kFairGreedy, c.seed)));
    MR_ASSIGN_OR_RETURN(const Ran ours, RunIt(CouplingRun(15, 7, TableFour(), kCouples, c.seed)));
    std::vector<double> out;
    double above = 0;
    for (size_t j = 0; j < fair.starved.size(); ++j) {
      out.push_back(fair.starved[j]);
      out.push_back(ours.starved[j]);
      above += ours.starved[j] > fair.starved[j] + 5;
    }
    out.push_back(above);
    return out;
  };
  return f;
}

Figure TenGrepsFigure() {
  Figure f = Pairs("fig6", "ten Greps, one each five minutes", 8, 8, 16.1, 10.1, [](uint64_t) { return TenGreps(); });
  f.lines[0].because =
      "a job has 11 minutes of maps, so that the cluster is behind all the time and a job takes what its maps take";
  f.lines[1].because =
      "reading takes 1 s of a map's 48.5 at the disk's full rate, so nothing that reduces do to the disk can cost it "
      "a tenth; "
      "nor does their computing (each that copies counted as .4 of a core, map times are 1.4 % shorter, jobs 2 %)";
  return f;
}

std::string WithBeta(double beta) {
  char text[80];
  std::snprintf(text, sizeof text, "fair(reduces=greedy),coupling(clock=paper,beta=%g)", beta);
  return text;
}

// Figures 11 and 15: how readily maps run away from their input. The job's size is a guess: the paper does not give it.
Figure Betas() {
  Figure f{"fig11", "one WordCount of 427 maps and 15 reduces, with beta fixed", {}, nullptr};
  f.lines = {Shorter("beta .1: shorter by, %", 18.3),
             Shorter("beta .5: shorter by, %", 38.7),
             {"local bytes under fair, % (fig15: between the next two)"},
             {"local bytes, beta .1, %"},
             {"local bytes, beta .5, %"}};
  f.run = [](const RunContext& c) -> Result<std::vector<double>> {
    const auto run = [&](const std::string& list) {
      std::vector<JobModel> job = {CouplingJob(0, "wordcount", CouplingKind::kWordCount, 427, 15)};
      return RunIt(CouplingRun(15, 7, std::move(job), list, c.seed));
    };
    MR_ASSIGN_OR_RETURN(const Ran fair, run(kFairGreedy));
    MR_ASSIGN_OR_RETURN(const Ran low, run(WithBeta(.1)));
    MR_ASSIGN_OR_RETURN(const Ran high, run(WithBeta(.5)));
    return std::vector<double>{Less(low.mean, fair.mean), Less(high.mean, fair.mean), fair.local, low.local,
                               high.local};
  };
  return f;
}

// Figure 12, Table II.
Figure Singles() {
  Figure f{"fig12", "single jobs on 15 nodes", {}, nullptr};
  for (const JobModel& job : TableTwo()) {
    const bool sort1 = job.name == "Sort1";
    f.lines.push_back({job.name + " shorter by, %", sort1 ? 14.6 : kNoNumber, sort1 ? 14.6 - kPoints : -3, kNoBound});
  }
  f.run = [](const RunContext& c) -> Result<std::vector<double>> {
    std::vector<double> out;
    for (const JobModel& job : TableTwo()) {
      MR_ASSIGN_OR_RETURN(const Ran fair, RunIt(CouplingRun(15, 7, {job}, kFairGreedy, c.seed)));
      MR_ASSIGN_OR_RETURN(const Ran ours, RunIt(CouplingRun(15, 7, {job}, kCouples, c.seed)));
      out.push_back(Less(ours.mean, fair.mean));
    }
    return out;
  };
  return f;
}

// Figure 16: at how many of a hundred percentiles completion is no later.
Figure Large() {
  Figure f{"fig16", "200 jobs on 62 nodes", {}, nullptr};
  f.lines = {Shorter("mean completion shorter by, %", 21.3),
             {"percentiles of completion that are no later, of 99", 99, 99, kNoBound},
             {"the least that one is shorter by, %"},
             {"median completion shorter by, %"},
             {"90th percentile shorter by, %"},
             {"reduce slots held for less by, %"}};
  f.run = [](const RunContext& c) -> Result<std::vector<double>> {
    MR_ASSIGN_OR_RETURN(Ran fair, RunIt(CouplingRun(62, 62, TwoHundred(c.seed), kFairGreedy, c.seed)));
    MR_ASSIGN_OR_RETURN(Ran ours, RunIt(CouplingRun(62, 62, TwoHundred(c.seed), kCouples, c.seed)));
    const double shorter = Less(ours.mean, fair.mean);
    std::sort(fair.seconds.begin(), fair.seconds.end());
    std::sort(ours.seconds.begin(), ours.seconds.end());
    double ahead = 0, least = 100;
    const auto gain = [&](size_t p) {
      const size_t i = p * fair.seconds.size() / 100;
      return Less(ours.seconds[i], fair.seconds[i]);
    };
    for (size_t p = 1; p < 100; ++p) {
      ahead += gain(p) >= 0;
      least = std::min(least, gain(p));
    }
    return std::vector<double>{shorter,  ahead,    least,
                               gain(50), gain(90), Less(ours.reduce_slot_seconds, fair.reduce_slot_seconds)};
  };
  return f;
}

}  // namespace

Study CouplingStudy() {
  Study s{"coupling",
          "Coupling Scheduler: Tan, Meng, Zhang, Coupling Task Progress for MapReduce "
          "Resource-Aware Scheduling, INFOCOM 2013",
          {},
          {}};
  s.parameters = {
      {"nodes", "15 of 4 map and 2 reduce slots, 4 cores; blocks, of one replica, on 7", "the paper's sets A and B"},
      {"map", "64 MiB, 48.5 s at its input", "the paper's 1 / mu; Hadoop's block then"},
      {"out of a map per byte in", "Grep .2, WordCount .3, Sort 1, QuasiMonteCarlo .0001", "guesses from what they do"},
      {"disk", "61.8 MB/s, one", "LATE's (OSDI'08, 5.1)"},
      {"heartbeat", "3 s", "Hadoop's; a period of offers here"},
      {"stragglers", "none; factor of an attempt lognormal(0, .15)", "speculation is off in the paper's runs"}};
  s.figures = {
      Mix(),
      Starvation(),
      TwoGreps(),
      TenGrepsFigure(),
      Pairs("fig13", "ten map-only jobs (Table III)", 15, 7, 24, kNoNumber, [](uint64_t) { return TableThree(); }),
      Betas(),
      Singles(),
      Large()};
  return s;
}

}  // namespace mr::sim
