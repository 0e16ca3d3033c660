// Simulates jobs with deadlines, and predictions from a job's earlier runs, as the master's predictor makes them.
#include <algorithm>

#include "master/sched/pipeline.h"
#include "master/sched/scheduler.h"
#include "master/sched/state/state.h"
#include "master/sim/engine/predict.h"
#include "master/sim/engine/simulation.h"

namespace mr::sim {

namespace {

constexpr uint64_t kSeedOfPredictions = 1;  // any value: predictions must be the same each time

// Returns the ratio of the bytes that the job reads from outside to those of its earlier run; 1 if either is unknown.
double InputAgainst(const RunProfile& profile, const JobModel& job) {
  double before = 0, now = 0;
  for (size_t s = 0; s < job.stages.size(); ++s) {
    const bool reads = std::any_of(job.stages[s].inputs.begin(), job.stages[s].inputs.end(),
                                   [](const sched::StageInput& in) { return !in.is_edge; });
    if (!reads) continue;
    before += profile.stages[s].input_bytes;
    now += static_cast<double>(job.stages[s].bytes);
  }
  return before > 0 && now > 0 ? now / before : 1;
}

}  // namespace

void Simulation::Foretell(uint32_t j) {
  const JobModel& model = experiment_.jobs[j];
  if (model.prediction != nullptr) return Step(sched::ProfileLoaded{{1, j + 1}, *model.prediction});
  if (!experiment_.learn || !sched::Scheduler::Steers(scheduler_.state().config().policies)) return;
  const sched::Job* job = scheduler_.state().FindJob({1, j + 1});
  if (job == nullptr) return;
  const auto known = profiles_.find({job->name, sched::PlanShape(job->graph)});
  if (known == profiles_.end()) return;
  std::vector<uint32_t> tasks;
  for (const StageModel& stage : model.stages) tasks.push_back(stage.tasks);
  PredictOptions options;
  options.slots = SlotsToPredict(experiment_.cluster.slots());
  options.seed = kSeedOfPredictions;
  const double times = InputAgainst(known->second, model);
  auto prediction = Predict(ScaledTo(known->second, tasks, times), options);
  if (!prediction.ok()) return Broken("no prediction of " + model.name + ": " + prediction.status().message());
  prediction->scale = times;
  Step(sched::ProfileLoaded{{1, j + 1}, std::move(*prediction)});
}

void Simulation::Learn(JobId id) {
  const sched::Job& job = *scheduler_.state().FindJob(id);
  RunProfile profile = sched::ProfileOf(job);
  const std::pair key(job.name, sched::PlanShape(job.graph));
  const auto known = profiles_.find(key);
  profiles_[key] = known == profiles_.end() ? std::move(profile) : sched::Merged(known->second, profile);
}

void Simulation::Grant(uint32_t index) {
  const Experiment::Wish& wish = experiment_.wishes[index];
  if (wish.job >= results_.size()) return;
  const JobId id{1, wish.job + 1};
  const sched::Job* job = scheduler_.state().FindJob(id);
  if (job == nullptr || !job->running()) return;
  results_[wish.job].deadline = wish.deadline;
  Step(sched::JobSet{id, wish.priority, FromSeconds(wish.deadline)});
}

}  // namespace mr::sim
