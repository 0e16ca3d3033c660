#include "master/sim/swarm/swarm.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>

#include "master/sched/policies/list.h"

namespace mr::sim {

namespace {

uint32_t Between(Rng& rng, uint32_t low, uint32_t high) {
  return low + static_cast<uint32_t>(rng.Below(high - low + 1));
}
bool Chance(Rng& rng, double p) { return rng.Uniform() < p; }

ClusterSpec RandomCluster(Rng& rng) {
  ClusterSpec cluster;
  const uint32_t racks = Between(rng, 1, 4);
  for (uint32_t r = 0; r < racks; ++r) {
    const bool open = Chance(rng, .5);
    cluster.racks.push_back({"r" + std::to_string(r), open ? 0 : kGigabit, open ? 0 : kGigabit});
  }
  // Mostly few workers: most faults of fifty workers also show with five, and are checked faster.
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
      // One such edge fixes the number of tasks. A second one would fix another number.
      const bool first = std::none_of(stage.inputs.begin(), stage.inputs.end() - 1,
                                      [](const auto& in) { return in.edge == sched::EdgeKind::kOneToOne; });
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

// Policies that place, wait, avoid, clone and speculate; a list has one of each kind or none. Their times are as short
// as the jobs, so that preemption, waits and speculative attempts happen.
constexpr const char* kPlace[] = {"fifo",
                                  "fair",
                                  "fair(reduces=greedy)",
                                  "fair(min_share_timeout=1,fair_share_timeout=3)",
                                  "fair(slowstart=0.5)",
                                  "fair(spare=last)",
                                  ""};
// Appended to fair, if it queues reduces as it queues maps.
constexpr const char* kSteer[] = {"jockey",
                                  "jockey(period=0.5,hysteresis=1,dead_zone=0)",
                                  "jockey(adapt=off)",
                                  "jockey(model=amdahl,slack=2)",
                                  "jockey(most=on)",
                                  "jockey(period=10,slack=1)"};
// All policies that are meant to work together.
constexpr char kEverything[] = "fair,jockey,coupling,dolly,delay_assignment,mantri";
constexpr const char* kWait[] = {"",
                                 "",
                                 "delay",
                                 "delay(clock=paper)",
                                 "delay(node=1,rack=2)",
                                 "coupling",
                                 "coupling(clock=paper)",
                                 "delay,coupling(beta=0.5,peek=2)"};
constexpr const char* kAvoid[] = {"", "", "blacklist(window=20)", "blacklist(window=5,threshold=0.2,most=0.5)"};
constexpr const char* kClone[] = {"",
                                  "",
                                  "",
                                  "dolly",
                                  "dolly(beta=1,tau=1,p=0.3)",
                                  "dolly(beta=1,tau=1,p=0.3),delay_assignment",
                                  "dolly(floor=20,tau=1,admission=preempt),delay_assignment(omega=2s)",
                                  "dolly(beta=0.5,tau=1,p=0.3,admission=fcfs),delay_assignment(omega=0)",
                                  "dolly(beta=1,p=0.5,charge=extra,partial=on),delay_assignment(omega=inf)",
                                  "opportunistic",
                                  "opportunistic(attempts=3,fill=1),delay_assignment(omega=2s)",
                                  "dolly(beta=0.2,p=0.3),delay_assignment,opportunistic",
                                  "dolly(beta=1,tau=1,p=0.3,network=on),opportunistic(network=on)"};
constexpr const char* kSpeculate[] = {"",
                                      "late",
                                      "late(cap=0.5,min_age=2s)",
                                      "late(cap=0.5,min_age=1s,gain=1.1,worth=0.25,outpaced=1,network=on)",
                                      "hadoop_speculation(min_age=3s)",
                                      "dryad_speculation(min_age=2s)",
                                      "dryad_speculation(done=0.5)",
                                      "spark_speculation(quantile=0.5,multiplier=1.2)",
                                      "spark_speculation",
                                      "mantri",
                                      "mantri",
                                      "mantri_restart(min_age=2s)",
                                      "mantri_restart(samples=finished,alpha=3,outpaced=off)",
                                      "mantri_replication(always=on)",
                                      "mantri_placement(wait=1s),mantri_recompute"};

// Far more events than a configuration needs if all of its jobs end.
constexpr uint64_t kMostEvents = 15'000;

template <size_t N>
std::string Pick(Rng& rng, const char* const (&from)[N]) {
  return from[rng.Below(N)];
}

// Returns the policies of the product that the lists above do not have.
std::vector<const sched::PolicyEntry*> UnlistedPolicies() {
  std::set<std::string> listed;
  using Lists = std::span<const char* const>;
  for (const Lists& lists :
       {Lists(kPlace), Lists(kSteer), Lists(kWait), Lists(kAvoid), Lists(kClone), Lists(kSpeculate)}) {
    for (const char* list : lists) {
      for (const std::string& item : sched::Pipeline::Items(list)) listed.insert(item.substr(0, item.find('(')));
    }
  }
  std::vector<const sched::PolicyEntry*> unlisted;
  for (const sched::PolicyEntry& entry : sched::AllPolicies()) {
    if (!listed.contains(std::string(entry.name))) unlisted.push_back(&entry);
  }
  return unlisted;
}

// Adds queues that the listed jobs share. A job alone can also make a queue.
void AddQueues(Rng& rng, Experiment* s) {
  const uint32_t queues = Between(rng, 1, 3);
  for (uint32_t q = 0; q < queues; ++q) {
    sched::QueueSet set;
    set.queue = "q" + std::to_string(q);
    set.weight = Between(rng, 1, 4);
    if (Chance(rng, .5)) set.min_share = Between(rng, 1, 8);
    if (Chance(rng, .3)) set.max_share = Between(rng, std::max(1u, set.min_share), 16);
    if (Chance(rng, .8)) s->queues.push_back(set);
  }
  for (JobModel& job : s->jobs) {
    if (Chance(rng, .8)) job.queue = "q" + std::to_string(rng.Below(queues));
  }
}

// Draws any numbers, most often valid ones. Its times are as short as the jobs.
sched::Prediction RandomPrediction(Rng& rng, size_t stages, uint32_t slots) {
  sched::Prediction p;
  for (uint32_t a = Between(rng, 1, 3); a <= slots + 2; a += Between(rng, 1, 5)) p.slots.push_back(a);
  p.buckets = Between(rng, 1, 10);
  p.quantiles = Between(rng, 1, 3);
  const double most = Chance(rng, .2) ? 1e6 : 120;
  for (size_t i = 0; i < p.slots.size() * (p.buckets + 1) * p.quantiles; ++i)
    p.left.push_back(static_cast<float>(most * rng.Uniform()));
  p.indicator = static_cast<sched::Indicator>(rng.Below(6));
  for (size_t s = 0; s < stages; ++s) {
    sched::StageProfile stage;
    stage.tasks = Between(rng, 0, 12);
    stage.run = 200 * rng.Uniform();
    stage.queue = 50 * rng.Uniform();
    stage.longest = 60 * rng.Uniform();
    stage.behind = 90 * rng.Uniform();
    stage.begin = rng.Uniform();
    p.stages.push_back(stage);
  }
  if (Chance(rng, .1)) p.stages.emplace_back();  // a stage of another job
  if (Chance(rng, .1)) p.left.pop_back();
  return p;
}

// Adds deadlines, right and wrong predictions, and users' changes. It has random numbers of its own, so that the rest
// of a configuration stays the same.
void AddDeadlines(uint64_t seed, Experiment* s) {
  Rng rng = Rng::Stream(seed, "deadlines");
  s->learn = Chance(rng, .5);
  for (uint32_t j = 0; j < s->jobs.size(); ++j) {
    JobModel& job = s->jobs[j];
    if (s->learn && Chance(rng, .5)) job.name = "again";
    if (Chance(rng, .6)) job.deadline = 5 + 200 * rng.Uniform();
    if (job.deadline > 0 && Chance(rng, .7)) {
      job.prediction =
          std::make_shared<const sched::Prediction>(RandomPrediction(rng, job.stages.size(), s->cluster.slots()));
    }
    const uint32_t wishes = Chance(rng, .4) ? Between(rng, 1, 3) : 0;
    for (uint32_t w = 0; w < wishes; ++w) {
      const double deadline = Chance(rng, .7) ? 5 + 200 * rng.Uniform() : 0;
      s->wishes.push_back({job.submit + 60 * rng.Uniform(), j, static_cast<int32_t>(rng.Below(5)) - 2, deadline});
    }
  }
}

// Adds slow machines, skew, slow starts, stalls, caches, and faults of reports to some configurations, which then take
// twice as long. It has random numbers of its own, too.
void AddChance(uint64_t seed, TaskModel* tasks) {
  // Most runs have few reports, for the time that they take.
  if (Rng::Stream(seed, "reports").Uniform() < .7) tasks->report_share = .05;
  Rng rng = Rng::Stream(seed, "chance of tasks");
  if (!Chance(rng, .4)) return;
  if (Chance(rng, .3)) {
    tasks->machine = {.3 * rng.Uniform(), .2 * rng.Uniform()};
    tasks->machine_lasts = Chance(rng, .3) ? 0 : 5 + 100 * rng.Uniform();
  }
  if (Chance(rng, .3)) tasks->skew = {.3 * rng.Uniform(), .2 * rng.Uniform()};
  if (Chance(rng, .2)) tasks->skew_share = rng.Uniform();
  if (Chance(rng, .3)) tasks->startup = 3 * rng.Uniform(), tasks->startup_sigma = rng.Uniform();
  if (Chance(rng, .2)) tasks->stall_every = 5 + 20 * rng.Uniform(), tasks->stall_lasts = 5 * rng.Uniform();
  if (Chance(rng, .2)) tasks->serve_disk = rng.Uniform(), tasks->cache = 1e9 * rng.Uniform();
  if (Chance(rng, .3)) tasks->report_noise = .5 * rng.Uniform();
  if (Chance(rng, .3)) tasks->report_lost = .3 * rng.Uniform();
  if (Chance(rng, .3)) tasks->report_late = .5 * rng.Uniform();
}

}  // namespace

std::string RandomPolicies(uint64_t seed) {
  Rng rng = Rng::Stream(seed, "policies");
  Rng steers = Rng::Stream(seed, "steering");
  if (Chance(steers, .08)) return kEverything;
  const std::string steer = Chance(steers, .6) ? Pick(steers, kSteer) : "";
  std::vector<std::string> parts = {Pick(rng, kPlace),    steer, Pick(rng, kWait), Pick(rng, kAvoid), Pick(rng, kClone),
                                    Pick(rng, kSpeculate)};
  // Unlisted policies have random numbers of their own, so that the rest of a list stays the same.
  static const std::vector<const sched::PolicyEntry*> kUnlisted = UnlistedPolicies();
  Rng unlisted = Rng::Stream(seed, "unlisted policies");
  for (const sched::PolicyEntry* entry : kUnlisted) {
    if (!Chance(unlisted, .3)) continue;
    if (entry->Is(sched::kPlacesWork))
      parts.front() = entry->name;
    else
      parts.emplace_back(entry->name);
  }
  std::string list;
  for (const std::string& part : parts) {
    if (part.empty()) continue;
    const std::string more = list + (list.empty() ? "" : ",") + part;
    // Leaves out policies that this build lacks.
    if (sched::Scheduler::CheckPolicies(more).ok()) list = more;
  }
  return list.empty() ? "fifo" : list;
}

Experiment RandomExperiment(uint64_t seed, const std::string& policies) {
  Rng rng = Rng::Stream(seed, "swarm");
  Experiment s;
  s.policies = policies == kAnyPolicies ? RandomPolicies(seed) : policies;
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
    // The first worker recovers soon, since some worker must finish the work.
    if (fault.worker == 0 && fault.kind != FaultKind::kOutputLost) fault.lasts = 1 + 30 * rng.Uniform();
    s.faults.faults.push_back(fault);
  }
  if (Chance(rng, .3)) s.faults.late = .2 * rng.Uniform();
  if (Chance(rng, .3)) s.faults.lost = .2 * rng.Uniform();
  if (Chance(rng, .3)) s.faults.twice = .2 * rng.Uniform();
  s.tasks.report_period = Seconds(Between(rng, 1, 5));
  if (Chance(rng, .3)) {
    for (WorkerSpec& w : s.cluster.workers) w.loss = Chance(rng, .3) ? .4 * rng.Uniform() : 0;
  }
  if (Chance(rng, .5)) AddQueues(rng, &s);
  for (JobModel& job : s.jobs) {
    if (Chance(rng, .2)) job.priority = static_cast<int32_t>(rng.Below(3));
    if (policies != kAnyPolicies || !Chance(rng, .2)) continue;
    const std::string own = Chance(rng, .3) ? Pick(rng, kClone) : Pick(rng, kSpeculate);
    if (!own.empty() && sched::Scheduler::CheckJobPolicies(own).ok()) job.policies = {own};
  }
  if (s.policies.find("jockey") != std::string::npos) AddDeadlines(seed, &s);
  AddChance(seed, &s.tasks);
  return s;
}

std::string RunChecked(Experiment experiment) {
  experiment.check = true;
  experiment.most_events = kMostEvents;
  Simulation run(std::move(experiment));
  std::string wrong = run.Run(nullptr);
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
