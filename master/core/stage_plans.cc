#include "master/core/stage_plans.h"

#include <algorithm>
#include <utility>

#include "master/core/fat_partitions.h"
#include "master/core/input_places.h"
#include "master/core/slices.h"

namespace mr::master {
namespace {

std::vector<Piece> PiecesOf(const JobView& job, uint32_t stage, const PlanBasis& basis) {
  const StageSpec& spec = job.spec.stages[stage];
  const uint32_t partitions = UncutTasks(job, stage);
  std::vector<SizedInput> inputs;
  for (uint32_t i = 0; i < spec.inputs.size(); ++i) {
    const InputSpec& input = spec.inputs[i];
    if (!input.is_edge || input.kind != EdgeKind::kAllToAll) continue;
    const StagePlan& upstream = job.plan.stages[input.stage];
    const uint32_t begin = upstream.FirstPartition(input.port);
    inputs.push_back({i, input.splits, basis.sizes.Of(job, input.stage, begin, begin + partitions)});
    // Nor where these are of other tasks than it has now, as in a takeover: ranges of them would leave some out.
    if (inputs.back().bytes.empty() || inputs.back().bytes.size() != upstream.tasks) return {};
  }
  return CutFatPartitions(inputs, partitions, basis.fat_bytes, kMaxTasks);
}

}  // namespace

uint32_t UncutTasks(const JobView& job, uint32_t stage) {
  for (const InputSpec& input : job.spec.stages[stage].inputs) {
    if (input.splits) return job.plan.stages[input.stage].port_partitions[input.port];
    if (input.is_edge && input.kind == EdgeKind::kOneToOne) return job.plan.stages[input.stage].tasks;
  }
  return job.plan.stages[stage].tasks;
}

bool WaitsForSizes(const JobView& job, uint32_t stage, uint64_t fat_bytes) {
  const StageSpec& spec = job.spec.stages[stage];
  // Not one of whose input no partition can become fat (guess: what it reads grows to at most eight times as much).
  if (!spec.splits() || job.plan.stages[stage].input_bytes < fat_bytes / 8) return false;
  return std::any_of(spec.inputs.begin(), spec.inputs.end(), [&](const InputSpec& input) {
    if (!input.is_edge || input.kind != EdgeKind::kAllToAll) return false;
    const StageView& upstream = job.stages[input.stage];
    return !upstream.planned || upstream.committed < upstream.tasks.size();
  });
}

sched::StagePlanned PlanOf(const JobView& job, uint32_t index, const PlanBasis& basis) {
  sched::StagePlanned event{job.id, index, 0, {}, ""};
  if (index >= job.plan.stages.size()) {
    event.error = "there is no such stage";
    return event;
  }
  const StagePlan& stage = job.plan.stages[index];
  event.partitions = stage.partitions();
  std::vector<Piece> pieces;
  if (job.spec.stages[index].splits() && !WaitsForSizes(job, index, basis.fat_bytes)) {
    pieces = PiecesOf(job, index, basis);
  }
  if (!pieces.empty()) {
    auto slices = SlicesOf(job.spec, job.plan, index, pieces);
    for (size_t t = 0; t < pieces.size(); ++t) event.tasks.push_back({pieces[t].bytes, {}, std::move(slices[t])});
    return event;
  }
  const uint32_t tasks = UncutTasks(job, index);
  auto slices = SlicesOf(job.spec, job.plan, index, tasks);
  event.tasks.resize(tasks);
  for (uint32_t t = 0; t < tasks; ++t) {
    event.tasks[t].slices = std::move(slices[t]);
    const auto splits = stage.SplitsOf(t);
    // Where the largest of them is.
    const auto largest = std::max_element(splits.begin(), splits.end(),
                                          [](const Split& a, const Split& b) { return a.length < b.length; });
    if (largest != splits.end()) event.tasks[t].preferred = HoldersOf(basis.files, job.plan, *largest);
    uint64_t bytes = 0;
    for (const Split& split : splits) bytes += split.length;
    event.tasks[t].input_bytes = splits.empty() ? stage.input_bytes / tasks : bytes;
  }
  return event;
}

bool SizesWanted(const JobView& job, uint32_t stage) {
  const auto& stages = job.spec.stages;
  return std::any_of(stages.begin(), stages.end(), [&](const StageSpec& reader) {
    return reader.splits() && std::any_of(reader.inputs.begin(), reader.inputs.end(), [&](const InputSpec& input) {
             return input.is_edge && input.stage == stage;
           });
  });
}

}  // namespace mr::master
