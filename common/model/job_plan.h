// The plan of a job: the tasks of its stages, and which version of each input they read. The journal keeps it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/model/output.h"
#include "common/model/split.h"

namespace mr {

struct StagePlan {
  uint32_t tasks = 0;
  std::vector<uint32_t> port_partitions;
  std::vector<Split> splits;               // of a stage that reads files, in the order of its tasks; else empty
  uint64_t input_bytes = 0;                // known or estimated, of all tasks
  std::vector<std::vector<Slice>> slices;  // per task, as given to the scheduler; empty until the stage is planned
  std::vector<uint32_t> first_split;       // per task, and the end; empty without splits. Made by FillSplits
  template <class V>
  static void Fields(V&& v) {
    using T = StagePlan;
    v(&T::tasks, &T::port_partitions, &T::splits, &T::input_bytes);
  }
  // Returns the splits of a task; empty if the stage reads no files.
  std::span<const Split> SplitsOf(uint32_t task) const {
    if (task + 1 >= first_split.size()) return {};
    return std::span(splits).subspan(first_split[task], first_split[task + 1] - first_split[task]);
  }
  // Returns the port's first partition, in the numbering over all ports.
  uint32_t FirstPartition(uint32_t port) const {
    uint32_t n = 0;
    for (uint32_t p = 0; p < port; ++p) n += port_partitions[p];
    return n;
  }
  uint32_t partitions() const { return FirstPartition(static_cast<uint32_t>(port_partitions.size())); }
};

struct JobPlan {
  std::vector<StagePlan> stages;
  // Stored as PlannedInputs.
  std::vector<PlannedFile> files;  // each once, whoever reads it
  uint64_t view = 0;               // FileView() of the master that planned it
  uint64_t pin = 0;                // dfs::InputsPinned; 0 = none
  template <class V>
  static void Fields(V&& v) {
    v(&JobPlan::stages);
  }
};

// The planned inputs of a job, stored after the plan in records and images. They are not in JobPlan's own list of
// fields, because plans of older releases have none.
struct PlannedInputs {
  uint64_t pin = 0, view = 0;
  std::vector<PlannedFile> files;
  std::vector<std::vector<uint32_t>> of_splits;  // by stage and split: Split::file
  template <class V>
  static void Fields(V&& v) {
    using T = PlannedInputs;
    v(&T::pin, &T::view, &T::files, &T::of_splits);
  }
};
PlannedInputs InputsOf(const JobPlan& plan);
// Returns false if the inputs do not belong to this plan, which is then not usable.
bool TakeInputs(PlannedInputs inputs, JobPlan* plan);
// Fills StagePlan::first_split.
void FillSplits(JobPlan* plan);

}  // namespace mr
