#include "master/sim/swarm.h"

#include <algorithm>
#include <cmath>

namespace mr::sim {

namespace {

uint32_t Between(Rng& rng, uint32_t low, uint32_t high) { return low + static_cast<uint32_t>(rng.Below(high - low + 1)); }
bool Chance(Rng& rng, double p) { return rng.Uniform() < p; }

ClusterSpec RandomCluster(Rng& rng) {
  ClusterSpec cluster;
  const uint32_t racks = Between(rng, 1, 4);
  for (uint32_t r = 0; r < racks; ++r) {
    const bool open = Chance(rng, .5);
    cluster.racks.push_back({"r" + std::to_string(r), open ? 0 : kGigabit, open ? 0 : kGigabit});
  }
  // Mostly few: what goes wrong with fifty goes wrong with five, and is checked faster.
  const auto workers = static_cast<uint32_t>(std::exp(rng.Uniform() * std::log(51.0)));
  for (uint32_t w = 0; w < std::max(1u, workers); ++w) {
    WorkerSpec spec;
    spec.rack = static_cast<uint32_t>(rng.Below(racks));
    spec.slots.total = Between(rng, 1, 4);
    if (w > 0 && Chance(rng, .3)) spec.slots.map = Between(rng, 1, spec.slots.total);
    if (w > 0 && Chance(rng, .3)) spec.slots.reduce = Between(rng, 1, spec.slots.total);
    if (Chance(rng, .2)) spec.speed = 1 / (1 + 9 * rng.Uniform());
    cluster.workers.push_back(spec);
  }
  return cluster;
}

JobModel RandomJob(Rng& rng, uint32_t number) {
  JobModel job;
  job.submit = 60 * rng.Uniform();
  job.name = "j" + std::to_string(number);
  const uint32_t stages = Between(rng, 1, 4);
  for (uint32_t s = 0; s < stages; ++s) {
    StageModel stage;
    stage.name = "s" + std::to_string(s);
    stage.tasks = Between(rng, 1, 12);
    stage.bytes = rng.Below(uint64_t{1} << 30);
    stage.output_bytes = rng.Below(uint64_t{1} << 30);
    for (uint32_t u = 0; u < s; ++u) {
      if (u + 1 < s && !Chance(rng, .3)) continue;
      const auto kind = static_cast<sched::EdgeKind>(Between(rng, 1, 4));
      stage.inputs.push_back({true, kind, u});
      if (kind != sched::EdgeKind::kOneToOne) continue;
      // One such edge fixes the number of tasks; a second one would fix another.
      const bool first = std::none_of(stage.inputs.begin(), stage.inputs.end() - 1, [](const auto& in) {
        return in.edge == sched::EdgeKind::kOneToOne;
      });
      if (first) stage.tasks = job.stages[u].tasks;
      if (!first) stage.inputs.back().edge = sched::EdgeKind::kBroadcast;
    }
    if (stage.inputs.empty()) stage.inputs.push_back({});
    stage.kind = s == 0 ? sched::SlotKind::kMap : sched::SlotKind::kReduce;
    if (Chance(rng, .1)) stage.durations.assign(stage.tasks, static_cast<float>(1 + 30 * rng.Uniform()));
    job.stages.push_back(std::move(stage));
  }
  return job;
}

}  // namespace

Experiment RandomExperiment(uint64_t seed, const std::string& policies) {
  Rng rng = Rng::Stream(seed, "swarm");
  Experiment s;
  s.policies = policies;
  s.seed = seed;
  s.check = true;
  s.cluster = RandomCluster(rng);
  const uint32_t jobs = Between(rng, 1, 5);
  for (uint32_t j = 0; j < jobs; ++j) s.jobs.push_back(RandomJob(rng, j));
  std::stable_sort(s.jobs.begin(), s.jobs.end(), [](const auto& x, const auto& y) { return x.submit < y.submit; });
  const auto workers = static_cast<uint32_t>(s.cluster.workers.size());
  const uint32_t faults = static_cast<uint32_t>(rng.Below(8));
  for (uint32_t f = 0; f < faults; ++f) {
    Fault fault;
    fault.kind = static_cast<FaultKind>(rng.Below(3));
    fault.at = 120 * rng.Uniform();
    fault.worker = static_cast<uint32_t>(rng.Below(workers));
    fault.lasts = Chance(rng, .7) ? 60 * rng.Uniform() : 0;
    fault.factor = 1 + 9 * rng.Uniform();
    // The first worker comes back soon: somebody must finish the work.
    if (fault.worker == 0 && fault.kind == FaultKind::kCrash) fault.lasts = 1 + 30 * rng.Uniform();
    s.faults.faults.push_back(fault);
  }
  if (Chance(rng, .3)) s.faults.late = .2 * rng.Uniform();
  if (Chance(rng, .3)) s.faults.lost = .2 * rng.Uniform();
  if (Chance(rng, .3)) s.faults.twice = .2 * rng.Uniform();
  s.tasks.report_period = Seconds(Between(rng, 1, 5));
  if (Chance(rng, .3)) {
    for (WorkerSpec& w : s.cluster.workers) w.loss = Chance(rng, .3) ? .4 * rng.Uniform() : 0;
  }
  return s;
}

std::string RunChecked(Experiment experiment) {
  experiment.check = true;
  Simulation run(std::move(experiment));
  const std::string wrong = run.Run(nullptr);
  if (!wrong.empty()) return wrong;
  for (const JobResult& job : run.jobs()) {
    if (!job.succeeded) return "a job failed that nobody's fault should fail: " + job.message;
  }
  const Totals& t = run.totals();
  if (std::abs(t.useful + t.wasted - t.busy) > 1e-6 * (1 + t.busy)) return "slot-seconds do not add up";
  double wasted = 0;
  uint64_t launched = 0;
  for (const sched::CauseCount& c : t.causes) {
    wasted += c.wasted.seconds();
    launched += c.launched;
  }
  if (std::abs(wasted - t.wasted) > 1e-6 * (1 + t.busy) || launched != t.starts) return "the causes do not add up";
  return "";
}

}  // namespace mr::sim
