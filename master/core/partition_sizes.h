// Partition sizes of outputs with many partitions, for stages that may share fat partitions. Tables of more than 64
// partitions stay with the workers (control.capnp, Manifest.table); their sizes in KiB come with the report. Kept until
// the job ends, and not over a restart: a stage that does not know all sizes splits nothing. Bounded. Thread: the
// master's.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "master/core/jobs.h"

namespace mr::master {

// The most sizes of one job (a guess: 16 MiB of memory).
inline constexpr size_t kMostPartitionSizes = 4u << 20;

class PartitionSizes {
 public:
  // Stores the sizes of the attempt that committed the task.
  void Note(TaskId task, std::vector<uint32_t> kib);
  // Returns the sizes of partitions [begin, end) in all outputs of the stage, in bytes, by task; empty where one of
  // them is not known.
  std::vector<std::vector<uint64_t>> Of(const JobView& job, uint32_t stage, uint32_t begin, uint32_t end) const;
  void Forget(JobId job);

 private:
  struct OfJob {
    std::map<std::pair<uint32_t, uint32_t>, std::vector<uint32_t>> tasks;  // (stage, task)
    size_t sizes = 0;
  };
  std::map<JobId, OfJob> jobs_;
};

}  // namespace mr::master
