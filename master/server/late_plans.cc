// Stages are planned when the scheduler asks, which is early: reduces may start before their inputs are complete. One
// that may split its fat partitions is planned when all that it shuffles is there and its sizes are known.
#include <algorithm>

#include "master/server/brain.h"
#include "master/server/planner.h"

namespace mr::master {

// Where nothing is cut: of a stage that may cut, the partitions that it reads; of one that reads another one-to-one, as
// many as that has by now; of others, what the plan says.
uint32_t Brain::UncutTasks(const JobView& job, uint32_t stage) {
  for (const InputSpec& input : job.spec.stages[stage].inputs) {
    if (input.splits) return job.plan.stages[input.stage].port_partitions[input.port];
    if (input.is_edge && input.kind == EdgeKind::kOneToOne) return job.plan.stages[input.stage].tasks;
  }
  return job.plan.stages[stage].tasks;
}

bool Brain::WaitsForSizes(const JobView& job, uint32_t stage) const {
  const StageSpec& spec = job.spec.stages[stage];
  // Not one of whose input no partition can become fat (guess: what it reads grows to at most eight times as much).
  if (!spec.splits() || job.plan.stages[stage].input_bytes < options_.fat_partition_bytes / 8) return false;
  return std::any_of(spec.inputs.begin(), spec.inputs.end(), [&](const InputSpec& input) {
    if (!input.is_edge || input.kind != EdgeKind::kAllToAll) return false;
    const StageView& upstream = job.stages[input.stage];
    return !upstream.planned || upstream.done < upstream.tasks.size();
  });
}

std::vector<Piece> Brain::PiecesOf(const JobView& job, uint32_t stage) const {
  const StageSpec& spec = job.spec.stages[stage];
  const uint32_t partitions = UncutTasks(job, stage);
  std::vector<SizedInput> inputs;
  for (uint32_t i = 0; i < spec.inputs.size(); ++i) {
    const InputSpec& input = spec.inputs[i];
    if (!input.is_edge || input.kind != EdgeKind::kAllToAll) continue;
    const StagePlan& upstream = job.plan.stages[input.stage];
    const uint32_t begin = upstream.FirstPartition(input.port);
    inputs.push_back({i, input.splits, partition_sizes_.Of(job, input.stage, begin, begin + partitions)});
    // Nor where these are of other tasks than it has now, as in a takeover: ranges of them would leave some out.
    if (inputs.back().bytes.empty() || inputs.back().bytes.size() != upstream.tasks) return {};
  }
  return CutFatPartitions(inputs, partitions, options_.fat_partition_bytes, kMaxTasks);
}

sched::StagePlanned Brain::PlannedStage(const sched::PlanStage& plan) {
  sched::StagePlanned event{plan.job, plan.stage, 0, {}, ""};
  const JobView* job = jobs_.Find(plan.job);
  if (job == nullptr || plan.stage >= job->plan.stages.size()) {
    event.error = "there is no such stage";
    return event;
  }
  const StagePlan& stage = job->plan.stages[plan.stage];
  event.partitions = stage.partitions();
  std::vector<Piece> pieces;
  if (job->spec.stages[plan.stage].splits() && !WaitsForSizes(*job, plan.stage)) pieces = PiecesOf(*job, plan.stage);
  if (!pieces.empty()) {
    auto slices = SlicesOf(job->spec, job->plan, plan.stage, pieces);
    for (size_t t = 0; t < pieces.size(); ++t) event.tasks.push_back({pieces[t].bytes, {}, std::move(slices[t])});
    return event;
  }
  const uint32_t tasks = UncutTasks(*job, plan.stage);
  auto slices = SlicesOf(job->spec, job->plan, plan.stage, tasks);
  event.tasks.resize(tasks);
  for (uint32_t t = 0; t < tasks; ++t) {
    event.tasks[t].slices = std::move(slices[t]);
    const auto splits = stage.SplitsOf(t);
    // Where the largest of them is.
    const auto largest = std::max_element(splits.begin(), splits.end(),
                                          [](const Split& a, const Split& b) { return a.length < b.length; });
    if (largest != splits.end()) event.tasks[t].preferred = Holders(job->plan, *largest);
    uint64_t bytes = 0;
    for (const Split& split : splits) bytes += split.length;
    event.tasks[t].input_bytes = splits.empty() ? stage.input_bytes / tasks : bytes;
  }
  return event;
}

void Brain::NoteSizes(const TaskId& task, std::vector<uint32_t> kib) {
  const JobView* job = jobs_.Find(task.job);
  if (job == nullptr || kib.empty()) return;
  const auto& stages = job->spec.stages;
  const bool wanted = std::any_of(stages.begin(), stages.end(), [&](const StageSpec& reader) {
    return reader.splits() && std::any_of(reader.inputs.begin(), reader.inputs.end(), [&](const InputSpec& input) {
             return input.is_edge && input.stage == task.stage;
           });
  });
  if (wanted) partition_sizes_.Note(task, std::move(kib));
}

void Brain::PlanLate(JobId id) {
  const auto begin = late_plans_.lower_bound({id, 0}), end = late_plans_.upper_bound({id, UINT32_MAX});
  for (const StageId& late : std::vector<StageId>(begin, end)) {
    const JobView* job = jobs_.Find(id);
    const bool gone = job == nullptr || Ended(job->state);
    if (!gone && WaitsForSizes(*job, late.stage)) continue;
    late_plans_.erase(late);
    if (!gone) Feed(PlannedStage({id, late.stage, {}}));
  }
}

void Brain::PlanLate() {
  std::set<JobId> jobs;
  for (const StageId& late : late_plans_) jobs.insert(late.job);
  for (const JobId job : jobs) PlanLate(job);
}

// Restores the slices of stages that were planned before the master's restart, from the scheduler.
void Brain::RestoreSlices() {
  for (const auto& [id, known] : scheduler_->state().jobs()) {
    JobView* job = jobs_.Find(id);
    if (job == nullptr || job->brief) continue;
    for (uint32_t s = 0; s < known.stages.size(); ++s) {
      auto& slices = job->plan.stages[s].slices;
      if (!known.stages[s].planned() || !slices.empty()) continue;
      for (const sched::Task& task : known.stages[s].tasks) slices.push_back(task.plan.slices);
    }
  }
}

}  // namespace mr::master
