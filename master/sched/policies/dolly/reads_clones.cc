#include "master/sched/policies/dolly/reads_clones.h"

#include <algorithm>

namespace mr::sched {

namespace {

// Most bound outputs of a stage, a guess. Each is a decision, a soft record of the journal and a message, and an entry
// of the state while its reader runs. The directory sends each output once per worker. Clones are for small jobs: 50
// tasks that read 50 have 2,500 such outputs; 2,000 reduces that read 150 maps would have 300,000.
constexpr uint64_t kMostTold = 20'000;

// Returns the outputs read through this input, in sum over the tasks of the stage.
uint64_t OutputsRead(const StageInput& input, uint64_t readers, uint64_t upstream) {
  switch (input.edge) {
    case EdgeKind::kAllToAll:
    case EdgeKind::kBroadcast: return readers * upstream;
    case EdgeKind::kManyToOne:
    case EdgeKind::kOneToOne: return std::max(readers, upstream);
  }
  return readers * upstream;
}

}  // namespace

bool MayBeTold(const Job& job, uint32_t stage) {
  const auto& inputs = job.graph.stages[stage].inputs;
  uint64_t readers = job.stages[stage].tasks.size(), told = 0;
  for (const StageInput& input : inputs) {
    if (job.stages[stage].planned() || !input.is_edge || input.edge != EdgeKind::kAllToAll) continue;
    readers = std::max<uint64_t>(readers, job.stages[input.upstream].partitions);
  }
  for (const StageInput& input : inputs) {
    if (input.is_edge) told += OutputsRead(input, readers, job.stages[input.upstream].tasks.size());
  }
  return told <= kMostTold;
}

bool ReadersMayBeTold(const Job& job, uint32_t stage) {
  const auto& readers = job.stages[stage].readers;
  return std::any_of(readers.begin(), readers.end(), [&](uint32_t reader) { return MayBeTold(job, reader); });
}

bool ReadsClones(const Job& job, uint32_t stage, const Task& task) {
  if (task.plan.slices.empty() || !MayBeTold(job, stage)) return false;
  const bool alike = job.causes[CauseIndex(Cause::kOpportunistic)].launched == 0;
  for (const Slice& slice : task.plan.slices) {
    const Stage& up = job.stages[job.graph.stages[stage].inputs[slice.input].upstream];
    if (up.indeterminate) continue;
    // Dolly clones all tasks of a phase alike, so one stands for all. Clones on idle slots differ, but their phases are
    // small.
    const uint32_t end = alike ? std::min(slice.task_end, slice.task_begin + 1) : slice.task_end;
    for (uint32_t t = slice.task_begin; t < end; ++t) {
      if (up.tasks[t].wanted_replicas > 1) return true;
    }
  }
  return false;
}

}  // namespace mr::sched
