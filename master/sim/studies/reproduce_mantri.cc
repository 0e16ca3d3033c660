// Mantri (Ananthanarayanan et al., OSDI'10): checks against independent numbers, its parts one by one, and the study as
// a whole.
#include "master/sim/studies/reproduce_mantri.h"

#include <cmath>

#include "common/base/rng.h"
#include "master/sched/policies/mantri/rack_shares.h"
#include "master/sim/engine/simulation.h"
#include "master/sim/studies/mantri_setups.h"

namespace mr::sim {

namespace {

// 1000 nodes of one slot, 1000 tasks of 15 s, 2 % of the nodes ten times slower. The expected numbers are those of a
// public simulation of Mantri's pseudocode.
Figure SlowNodes() {
  Figure f{"slownodes", "1000 tasks on 1000 nodes of which 20 are ten times slower", {}, nullptr};
  f.lines = {Within("none, s", 185.5, .1),
             Within("backups from 95 %, s", 37.5, .1),
             Within("LATE, s", 30, .1, "speculative attempts begin at 15 s here, and the slowest of twenty takes 18 s"),
             {"Mantri, s", 30, 0, 33, "does not wait for a task to be 15 s old, as LATE does here"},
             Within("LATE, extra attempts", 100, .2),
             Within("Mantri, extra attempts", 20, .001),
             {"Mantri / none, slot-seconds", 15850.0 / 18088, 0, .95}};
  f.run = [](const RunContext& c) -> Result<std::vector<double>> {
    std::vector<double> seconds, extra, busy;
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
      extra.push_back(static_cast<double>(run.totals().extra));
      busy.push_back(run.totals().busy);
    }
    return std::vector<double>{seconds[0], seconds[1], seconds[2], seconds[3], extra[2], extra[3], busy[3] / busy[0]};
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
    return std::vector<double>{sched::ShuffleCost(racks, best), best[0],
                               sched::ShuffleCost(racks, {1.0 / 3, 1.0 / 3, 1.0 / 3})};
  };
  return f;
}

Experiment TwoPercentLost(const std::string& policies, uint64_t seed) { return LossyOutputs(policies, .02, seed); }

// Mean seconds of a job under the first list, and by how much the other lists shorten it.
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
      const auto jobs = static_cast<double>(run.jobs().size());
      for (const JobResult& job : run.jobs()) mean += (job.ended - job.submitted) / jobs;
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
  Study s{
      "mantri", "Mantri: Ananthanarayanan et al., Reining in the Outliers in Map-Reduce Clusters, OSDI 2010", {}, {}};
  s.parameters = {
      {"gamma, delta, alpha, rho", "3, 0.25, 2, 3", "Mantri 5.1; alpha and rho from memory"},
      {"Delta", "min(10 s, life / 10)", "Mantri 5"},
      {"first attempts", "take their recorded durations", "the trace, or the generator's mix measured on it"},
      {"other attempts", "take one of their phase's, by chance",
       "the phase's own distribution; no straggler factors are added"},
      {"input", "progress is counted alike for all tasks",
       "an extra attempt's time is drawn whatever its task reads: no skew in this model"},
      {"ideal", "each task slower than its phase's median takes the median", "Dolly's potential (NSDI'13)"},
      {"slots of jobs, google", "6,144; 12,500",
       "mumak19 ran on 1536 nodes, 817 attempts on average and 4389 at most; 4 slots each are a guess. A machine of "
       "the cell: one"},
      {"slots of phases, waves", "one per task; half as many", "no slot is idle until a task ends"},
      {"best possible",
       "all ends known from the first report on, two extra attempts of each task drawn anew at each report",
       "a bound, whatever it costs"},
      {"phases", "one after the other", "recorded reduce times hold the wait for the maps"},
      {"reports", "each Delta, min(10 s, life / 10)", "Mantri 5; of lives over 1000 s a hundredth, for the run's sake"},
      {"offers", "100 per median task", "a guess"},
      {"baselines", "with their own papers' thresholds", "late.h and its neighbours"}};
  s.figures = {
      MantriJobsOfRumen(),
      MantriPhases(),
      MantriWaves(),
      MantriJobsOfGoogle(),
      MantriWholeTrace(),
      SlowNodes(),
      Placement(),
      Ablation("racks", "a shuffle of 4 GB over three uneven racks with narrow links", &UnevenRacks,
               {"fair", "fair,mantri_placement"},
               {{"none, s"},
                {"with placement, shorter by %", 60, 30, kNoBound},
                {"with placement / none, bytes across racks"}}),
      Ablation("losses", "80 maps and 200 reduces; 2 % of outputs cannot be read", &TwoPercentLost,
               {"fair", "fair,mantri_replication", "fair,mantri_recompute", "fair,mantri_replication,mantri_recompute"},
               {{"none, s"},
                {"replication, shorter by %", 40, 0, kNoBound},
                {"replication / none, bytes across racks"},
                {"recompute, shorter by %"},
                {"recompute / none, bytes across racks"},
                {"both, shorter by %"},
                {"both / none, bytes across racks"}})};
  return s;
}

}  // namespace mr::sim
