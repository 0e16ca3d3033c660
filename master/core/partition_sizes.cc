#include "master/core/partition_sizes.h"

namespace mr::master {

void PartitionSizes::Note(TaskId task, std::vector<uint32_t> kib) {
  OfJob& of = jobs_[task.job];
  auto& known = of.tasks[{task.stage, task.task}];
  of.sizes -= known.size();
  if (of.sizes + kib.size() > kMostPartitionSizes) kib.clear();
  known = std::move(kib);
  of.sizes += known.size();
}

std::vector<std::vector<uint64_t>> PartitionSizes::Of(const JobView& job, uint32_t stage, uint32_t begin,
                                                      uint32_t end) const {
  std::vector<std::vector<uint64_t>> sizes;
  const auto reported = jobs_.find(job.id);
  for (uint32_t t = 0; t < job.stages[stage].tasks.size(); ++t) {
    const TaskView& task = job.stages[stage].tasks[t];
    auto& of = sizes.emplace_back();
    if (task.output && task.output.rows() >= end) {
      for (uint32_t p = begin; p < end; ++p) of.push_back(task.output.BytesOf(p));
      continue;
    }
    if (reported == jobs_.end()) return {};
    const auto kib = reported->second.tasks.find({stage, t});
    if (kib == reported->second.tasks.end() || kib->second.size() < end) return {};
    for (uint32_t p = begin; p < end; ++p) of.push_back(uint64_t{kib->second[p]} << 10);
  }
  return sizes;
}

void PartitionSizes::Forget(JobId job) { jobs_.erase(job); }

}  // namespace mr::master
