#include "master/host/launch_message.h"

#include <glog/logging.h>

#include "master/core/input_places.h"
#include "master/host/publisher.h"

namespace mr::master {

LaunchCommand LaunchOf(const MasterCore& core, const JobView& job, const sched::Launch& launch) {
  const TaskId& task = launch.attempt.task;
  const StagePlan& plan = job.plan.stages[task.stage];
  LaunchCommand out{launch.attempt, launch.generation, {}, {}, launch.by_bind};
  const auto holder = core.workers().all().find(launch.worker);
  const std::string near = holder == core.workers().all().end() ? "" : holder->second.info.address;
  for (const Split& split : plan.SplitsOf(task.task)) {
    SplitToRead& read = out.splits.emplace_back(SplitToRead{split, {}, 0, {}});
    read.input = split.input_index();
    if (split.file < job.plan.files.size()) {
      read.version = job.plan.files[split.file];
      read.view = job.plan.view;
    }
    auto blocks = BlocksOf(core.files(), job.plan, split, near, launch.attempt.number);
    LOG_IF(WARNING, !blocks.ok()) << split.uri << ": " << blocks.status().ToString();
    if (blocks.ok()) read.blocks = *std::move(blocks);  // else the attempt says that its blocks are missing
  }
  // Slices of a job that ended before this master began are not known any more.
  if (task.task < plan.slices.size()) out.slices = plan.slices[task.task];
  return out;
}

StageInfo InfoOf(const JobView& job, uint32_t index, uint64_t cluster_id) {
  const JobSpec& spec = job.spec;
  const StagePlan& plan = job.plan.stages[index];
  StageInfo info{{job.id, index}, "", spec.stages[index], plan.tasks, plan.port_partitions, spec.env};
  StageSpec& stage = info.spec;
  if (!stage.builtin) info.library = spec.library;
  // Each launch has the URIs that it reads; a stage may have ten thousand.
  for (InputSpec& input : stage.inputs) input.files.uris.clear();
  info.memory_bytes = spec.MemoryOf(stage);
  info.sort_buffer_bytes = spec.sort_buffer_bytes;
  // The same for all stages of all jobs: a join needs equal keys of different stages in the same
  // partition, and equal jobs give equal bytes.
  info.partition_seed = 1;
  if (stage.is_final()) {
    info.staging_uri = spec.output_uri.starts_with("file://") ? StagingUri(spec.output_uri, Name(job.id), cluster_id)
                                                              : "dfs:///.staging/" + Name(job.id);
  }
  info.job_name = spec.name;
  info.files = spec.files;
  info.max_bad_records = spec.max_bad_records;
  info.task_timeout = spec.task_timeout;
  info.strict_inputs = spec.strict_inputs;
  info.allow_network = spec.allow_network;
  info.min_tier = spec.min_tier;
  info.owner = job.owner;
  info.submitted_unix_ms = job.wall_ms;
  return info;
}

}  // namespace mr::master
