// Rows of lists that people see: tasks, attempts, decisions, workers and queues as the core has them now. Lists sends
// them to clients; pages are made from them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/model/status.h"
#include "master/core/master_core.h"
#include "master/host/drain_status.h"

namespace mr::master {

// Returns whether the line is the end of its job.
bool EndsJob(const WhyLine& line);

// Sums of counters by group and name.
using CounterSums = std::map<std::pair<std::string, std::string>, int64_t>;
// Adds the counters of a task if it has committed. Returns how many it has.
size_t AddCountersOf(const TaskView& task, CounterSums* sums);
// Returns the sums ordered by group and name.
std::vector<CounterValue> ListOf(const CounterSums& sums);

// Thread: the master's. Cost: about a microsecond per row, unless a function says otherwise.
class Rows {
 public:
  Rows(MasterCore& core, DrainReader& drains) : core_(core), drains_(drains) {}

  // slices: how many slices of inputs may still be summed; taken from.
  TaskStatus TaskOf(const JobView& job, uint32_t stage, uint32_t task, uint64_t* slices) const;
  AttemptStatus AttemptOf(const JobView& job, const AttemptView& attempt, Instant now) const;
  DecisionStatus DecisionOf(const JobView& job, const WhyLine& line) const;
  // Returns up to `most` decisions from the one at `from` on, and in *next the place after them, 0 at the end. The
  // job's own lines come first, its end last. Cost: the tasks before `from`.
  std::vector<WhyLine> DecisionsOf(const JobView& job, size_t from, size_t most, size_t* next) const;
  // Cost: for a draining worker, that of DrainReader.
  WorkerStatus WorkerOf(WorkerId id, const WorkerView& worker);
  std::vector<QueueStatus> Queues() const;

 private:
  MasterCore& core_;
  DrainReader& drains_;
};

}  // namespace mr::master
