#include "master/sim/studies/jockey_runs.h"

#include <algorithm>
#include <cmath>

#include "master/sched/job_graph.h"
#include "master/sched/state/state.h"
#include "master/sim/studies/jockey_setups.h"

namespace mr::sim {

namespace {

// All times are in minutes (NoisyCluster).
// The load of others. In an on-phase a queue submits tasks at once for 1.2 times its share of the slots, so that it
// wants all slots. Then it is off for a while. Guesses, chosen so that fair misses a third of TPC-H.
constexpr uint32_t kQueues = 9;
constexpr double kOn = 5, kOff = 3, kDemand = 1.2;   // means; factor on its share of the slots
constexpr double kTaskMedian = .2, kTaskSigma = .8;  // of their tasks
constexpr double kSubmit = 5;                        // submit of the measured job
constexpr double kHorizon = 300;                     // others are submitted until then
// Faults: guesses.
constexpr double kFails = .01;  // P(an attempt fails)
constexpr uint32_t kCrashes = 2, kSlowMachines = 6;
constexpr double kCrashLasts = 2, kSlowLasts = 5, kWithin = 60;

void AddOthers(Experiment* e, double minute) {
  for (uint32_t q = 0; q < kQueues; ++q) {
    Rng rng = Rng::Stream(e->seed, "others " + std::to_string(q));
    const double off = kOff * minute;
    for (double at = rng.Exponential(off); at < kHorizon * minute; at += rng.Exponential(off)) {
      const double lasts = rng.Exponential(kOn * minute);
      JobModel job = MapReduce(at, "other", 1, 0, 0, 0, 0);
      job.queue = "q" + std::to_string(q);
      double work = lasts * kDemand * e->cluster.slots() / kQueues;
      StageModel& stage = job.stages[0];
      for (; work > 0; work -= stage.durations.back())
        stage.durations.push_back(
            static_cast<float>(kTaskMedian * minute * std::exp(kTaskSigma * StandardNormal(rng))));
      stage.tasks = static_cast<uint32_t>(stage.durations.size());
      if (stage.tasks > 0) e->jobs.push_back(std::move(job));
      at += lasts;
    }
  }
}

void AddFaults(Experiment* e, double minute) {
  Rng rng = Rng::Stream(e->seed, "faults");
  const auto any = [&] { return static_cast<uint32_t>(rng.Below(e->cluster.workers.size())); };
  const auto when = [&] { return (kSubmit + kWithin * rng.Uniform()) * minute; };
  for (uint32_t i = 0; i < kCrashes; ++i)
    e->faults.faults.push_back({FaultKind::kCrash, when(), any(), kCrashLasts * minute, 1});
  for (uint32_t i = 0; i < kSlowMachines; ++i)
    e->faults.faults.push_back({FaultKind::kContention, when(), any(), kSlowLasts * minute, 2 + 2 * rng.Uniform()});
}

double Seconds(Instant at) { return static_cast<double>(at.ns) * 1e-9; }

}  // namespace

JobModel JobOf(const RunProfile& profile, const std::vector<double>& factors, uint64_t seed) {
  JobModel job;
  job.name = "deadline";
  for (size_t s = 0; s < profile.stages.size(); ++s) {
    const StageRuns& runs = profile.stages[s];
    Rng rng = Rng::Stream(seed, "stage " + std::to_string(s));
    StageModel stage;
    stage.name = runs.name;
    stage.tasks = runs.tasks;
    stage.inputs = runs.inputs.empty() ? std::vector<sched::StageInput>{{}} : runs.inputs;
    stage.kind = stage.inputs[0].is_edge ? sched::SlotKind::kReduce : sched::SlotKind::kMap;
    const double factor = factors.empty() ? 1 : factors[s];
    for (uint32_t t = 0; t < runs.tasks; ++t) {
      const double wait = runs.wait.empty() ? 0 : runs.wait[rng.Below(runs.wait.size())];
      stage.durations.push_back(static_cast<float>(factor * runs.run[rng.Below(runs.run.size())] + wait));
    }
    job.stages.push_back(std::move(stage));
  }
  return job;
}

double CriticalPath(const JobModel& job) {
  std::vector<std::vector<double>> ends;
  double last = 0;
  for (const StageModel& stage : job.stages) {
    std::vector<double> end(stage.tasks, 0);
    for (uint32_t t = 0; t < stage.tasks; ++t) {
      for (uint32_t i = 0; i < stage.inputs.size(); ++i) {
        const sched::StageInput& in = stage.inputs[i];
        if (!in.is_edge) continue;
        const std::vector<double>& up = ends[in.upstream];
        const auto n = static_cast<uint32_t>(up.size());
        const Slice slice = sched::SliceOf({in.edge, i, n, 0, 1, stage.tasks}, t);
        for (uint32_t u = slice.task_begin; u < slice.task_end; ++u) end[t] = std::max(end[t], up[u]);
      }
      end[t] += static_cast<double>(stage.durations[t % stage.durations.size()]);
      last = std::max(last, end[t]);
    }
    ends.push_back(std::move(end));
  }
  return last;
}

Experiment NoisyCluster(JobModel job, const std::string& policies, uint64_t seed, double minute) {
  Experiment e;
  e.cluster = *ParseCluster("25x4");
  e.seed = seed;
  e.policies = policies;
  e.tasks.fails = kFails;
  e.tasks.report_period = {};
  job.submit = kSubmit * minute;
  job.queue = "ours";
  e.jobs.push_back(std::move(job));
  AddOthers(&e, minute);
  AddFaults(&e, minute);
  e.last = 0;
  return e;
}

Result<DeadlineRun> RunOne(Experiment e, const DeadlineAsk& ask) {
  JobModel& job = e.jobs[0];
  job.deadline = ask.deadline;
  job.prediction = ask.prediction;
  if (ask.changed > 0) e.wishes.push_back({job.submit + ask.change_at, 0, 0, ask.changed});
  DeadlineRun out;
  out.deadline = ask.changed > 0 ? ask.changed : ask.deadline;
  for (const StageModel& stage : job.stages) {
    for (const float seconds : stage.durations) out.work += static_cast<double>(seconds);
  }
  const double oracle = out.deadline > 0 ? std::ceil(out.work / out.deadline) : 0;
  const double submit = job.submit;
  constexpr JobId kJob{1, 1};
  double before = submit, share = 0, holding = 0;
  bool guaranteed = false;
  const Simulation* run = nullptr;
  e.watch = [&](const sched::StampedEvent& event, const std::vector<sched::Decision>& decisions) {
    const double now = Seconds(event.at);
    const sched::Job* state = run->scheduler().state().FindJob(kJob);
    if (state == nullptr) return;
    const double passed = now - std::min(now, before);
    out.held += passed * holding;
    const double counted = guaranteed ? share : holding;
    out.guaranteed += passed * counted;
    out.above += passed * std::max(0.0, counted - oracle);
    before = now;
    holding = state->holding;
    share = state->share;
    for (const sched::Decision& d : decisions) {
      if (const auto* set = std::get_if<sched::SetShare>(&d); set != nullptr && set->job == kJob) {
        guaranteed = guaranteed || set->slots > 0;
        out.shares.emplace_back(now - submit, set->slots);
      }
      if (const auto* done = std::get_if<sched::CommitJob>(&d); done != nullptr && done->job == kJob)
        out.profile = sched::ProfileOf(*state);
    }
  };
  Simulation simulation(std::move(e));
  run = &simulation;
  const std::string wrong = simulation.Run(nullptr);
  if (!wrong.empty()) return Internal("the simulation stopped " + wrong);
  const JobResult& result = simulation.jobs()[0];
  if (!result.succeeded) return Internal("the job failed: " + result.message);
  out.seconds = result.ended - result.submitted;
  return out;
}

}  // namespace mr::sim
