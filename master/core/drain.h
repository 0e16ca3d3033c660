// Whether a worker that is drained can be stopped, and what it waits for: the block store (dfs/meta/drain.h) joined
// with attempts and outputs of the scheduler. Pure; the host fills in what only it knows.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/model/status.h"
#include "dfs/meta/drain.h"
#include "master/sched/model.h"

namespace mr::sched {
class State;
}

namespace mr::master {

struct DrainReport {
  bool draining = false;  // an operator drains it
  bool here = false;      // it is registered; else nobody knows what it alone has
  std::string word;       // as `mrctl workers` shows its state
  dfs::DrainBlocks blocks;
  uint32_t attempts = 0;  // that run there
  // Outputs in the shuffle that no other worker that stays can serve, and that jobs still read. Without the worker
  // their tasks run again. They are moved (master/sched/fold/output_moves.h). outputs_moving: replicas of them are
  // being made. outputs_failing: a worker could not make one.
  uint64_t outputs = 0, output_bytes = 0, outputs_moving = 0, outputs_failing = 0;
  bool outputs_without_worker = false;  // no worker stays that could take outputs
  std::vector<JobId> jobs;              // the jobs that read them, in order

  // Nothing is lost and nothing runs again when the worker is stopped.
  bool Safe() const { return draining && here && attempts == 0 && outputs == 0 && blocks.Safe(); }
};

// Adds the attempts and outputs of the worker. Cost: the worker's outputs.
void AddScheduled(const sched::State& state, WorkerId worker, const std::function<uint64_t(const Replica&)>& bytes_of,
                  DrainReport* report);

// One sentence for each thing that the worker waits for; none where the report is Safe().
std::vector<std::string> WaitsFor(const DrainReport& report);
// Describes the files that will have fewer replicas than they ask for, which does not keep the worker; "" where there
// are none.
std::string StaysThin(const DrainReport& report);
// Returns the report with its sentences, and with the first 20 of its jobs.
DrainStatus StatusOf(const DrainReport& report);

}  // namespace mr::master
