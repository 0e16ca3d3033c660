#include "master/sched/job_graph.h"

namespace mr::sched {

namespace {

// Bits of TaskClass::full_inputs.
constexpr size_t kMaxInputs = 64;

std::string StageText(const JobGraph& graph, size_t s) {
  return "stage " + std::to_string(s) + " '" + graph.stages[s].name + "'";
}

std::string CheckSlice(const Job& job, const StageSpec& spec, const Slice& slice) {
  if (slice.input >= spec.inputs.size() || !spec.inputs[slice.input].is_edge) {
    return "a slice names input " + std::to_string(slice.input) + ", which is not an edge";
  }
  const Stage& up = job.stages[spec.inputs[slice.input].upstream];
  if (slice.task_begin > slice.task_end || slice.task_end > up.tasks.size()) {
    return "a slice reads upstream tasks " + std::to_string(slice.task_begin) + " to " +
           std::to_string(slice.task_end) + " of " + std::to_string(up.tasks.size());
  }
  if (slice.partition_begin > slice.partition_end || slice.partition_end > up.partitions) {
    return "a slice reads partitions " + std::to_string(slice.partition_begin) + " to " +
           std::to_string(slice.partition_end) + " of " + std::to_string(up.partitions);
  }
  return "";
}

}  // namespace

Status CheckGraph(const JobGraph& graph) {
  if (graph.stages.empty()) return InvalidArgument("the job has no stages");
  std::vector<bool> read(graph.stages.size(), false);
  for (size_t s = 0; s < graph.stages.size(); ++s) {
    const StageSpec& spec = graph.stages[s];
    if (spec.inputs.size() > kMaxInputs) {
      return InvalidArgument(StageText(graph, s) + " has " + std::to_string(spec.inputs.size()) + " inputs; at most " +
                             std::to_string(kMaxInputs) + " are supported");
    }
    for (const StageInput& input : spec.inputs) {
      if (!input.is_edge) continue;
      if (input.upstream >= s) {
        return InvalidArgument(StageText(graph, s) + " reads stage " + std::to_string(input.upstream) +
                               "; an edge must come from an earlier stage of the list");
      }
      if (graph.stages[input.upstream].is_final) {
        return InvalidArgument(StageText(graph, s) + " reads " + StageText(graph, input.upstream) +
                               ", whose output is files; read it through a stage in between");
      }
      read[input.upstream] = true;
    }
  }
  for (size_t s = 0; s < graph.stages.size(); ++s) {
    if (!graph.stages[s].is_final && !read[s]) {
      return InvalidArgument(StageText(graph, s) + " is read by no stage and writes no output");
    }
  }
  return Status::Ok();
}

std::string CheckPlan(const Job& job, const StagePlanned& plan) {
  const StageSpec& spec = job.graph.stages[plan.stage];
  for (size_t t = 0; t < plan.tasks.size(); ++t) {
    for (const Slice& slice : plan.tasks[t].slices) {
      const std::string error = CheckSlice(job, spec, slice);
      if (!error.empty()) return "task " + std::to_string(t) + ": " + error;
    }
  }
  return "";
}

bool MayDiffer(const Job& job, uint32_t stage) {
  const auto& inputs = job.graph.stages[stage].inputs;
  return job.stages[stage].indeterminate || std::any_of(inputs.begin(), inputs.end(), [&](const StageInput& input) {
           return input.is_edge && job.stages[input.upstream].indeterminate;
         });
}

bool UpstreamPlanned(const Job& job, uint32_t stage) {
  for (const StageInput& input : job.graph.stages[stage].inputs) {
    if (input.is_edge && !job.stages[input.upstream].planned()) return false;
  }
  return true;
}

Slice SliceOf(const EdgeShape& e, uint32_t reader) {
  Slice s;
  s.input = e.input;
  s.partition_begin = e.partition_begin;
  s.partition_end = e.partition_begin + e.partitions;
  s.task_begin = 0;
  s.task_end = e.upstream_tasks;
  switch (e.kind) {
    case EdgeKind::kAllToAll:
      s.partition_begin = e.partition_begin + reader;
      s.partition_end = s.partition_begin + 1;
      break;
    case EdgeKind::kManyToOne:
      s.task_begin = static_cast<uint32_t>(uint64_t{e.upstream_tasks} * reader / e.readers);
      s.task_end = static_cast<uint32_t>(uint64_t{e.upstream_tasks} * (reader + 1) / e.readers);
      break;
    case EdgeKind::kOneToOne:
      s.task_begin = reader;
      s.task_end = reader + 1;
      break;
    case EdgeKind::kBroadcast: break;
  }
  return s;
}

}  // namespace mr::sched
