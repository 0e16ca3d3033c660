#include "master/host/task_input.h"

#include <algorithm>
#include <optional>

namespace mr::master {
namespace {

// Returns the bytes of these slices; nothing where an output is not committed, or has its sizes elsewhere.
std::optional<uint64_t> BytesOf(const JobView& job, uint32_t stage, const std::vector<Slice>& slices, uint64_t* left) {
  uint64_t bytes = 0;
  for (const Slice& slice : slices) {
    const InputSpec& input = job.spec.stages[stage].inputs[slice.input];
    const std::vector<TaskView>& tasks = job.stages[input.stage].tasks;
    const uint64_t n = uint64_t{slice.task_end - slice.task_begin} * (slice.partition_end - slice.partition_begin);
    if (n > *left) return std::nullopt;
    *left -= n;
    for (uint32_t t = slice.task_begin; t < std::min<size_t>(slice.task_end, tasks.size()); ++t) {
      const StoredOutput& output = tasks[t].output;
      if (!output || output.rows() < slice.partition_end) return std::nullopt;
      for (uint32_t p = slice.partition_begin; p < slice.partition_end; ++p) bytes += output.BytesOf(p);
    }
  }
  return bytes;
}

}  // namespace

uint64_t InputBytes(const JobView& job, uint32_t stage, const sched::Task* task, uint64_t* slices) {
  if (task == nullptr) return 0;
  if (job.spec.stages[stage].is_map()) return task->plan.input_bytes;
  if (const auto bytes = BytesOf(job, stage, task->plan.slices, slices)) return *bytes;
  uint64_t taken = 0;
  if (!task->attempts.empty() && !task->attempts.back().samples.empty())
    taken = task->attempts.back().samples.back().taken_by_operator();
  return taken == 0 ? task->plan.input_bytes : taken;
}

}  // namespace mr::master
