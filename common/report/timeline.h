// The attempts of a job as intervals on the slots of workers, with the relations that other parts of a report use.
// Times are microseconds since the submission.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/ids.h"
#include "common/report/job_run.h"

namespace mr::report {

// One attempt. `status` points into the JobRun.
struct Interval {
  const AttemptStatus* status = nullptr;
  AttemptId id;
  size_t worker = 0;  // index of Timeline::workers
  uint32_t lane = 0;  // slot of the worker, from 0
  // launched <= started <= inputs <= ended. started, inputs: not reported times of a committed attempt count as none.
  uint64_t launched = 0, started = 0, inputs = 0;
  uint64_t ended = 0;       // of one that runs: the job's elapsed time
  bool runs = false;        // its end is not reported
  uint64_t ready = 0;       // commit of the last upstream output before `inputs`; 0: it reads none
  size_t input = SIZE_MAX;  // the attempt that made this commit
  uint64_t ran() const { return ended - launched; }
  // Returns its time without the wait for outputs that were not there yet: of an attempt that was launched early.
  uint64_t worked() const { return ended - std::min(ended, std::max(launched, ready)); }
};

struct Lanes {
  std::string id;
  const WorkerStatus* status = nullptr;  // null: the worker is not known any more
  uint32_t lanes = 0;                    // the most attempts of the job that ran there at the same time
};

// Returns the stages that a stage reads, in the order of its inputs.
std::vector<uint32_t> UpstreamOf(const StageSpec& stage);

class Timeline {
 public:
  // Cost: n log n in the attempts, for each input of a stage. `run` must outlive the timeline. Attempts that are not of
  // this job, or of no stage of its spec, are left out.
  explicit Timeline(const JobRun& run);

  // Ordered by launch.
  const std::vector<Interval>& attempts() const { return attempts_; }
  const std::vector<Lanes>& workers() const { return workers_; }
  // Returns the attempts of a task as indices, ordered by launch.
  const std::vector<size_t>& Of(uint32_t stage, uint32_t task) const;
  // Returns the committed attempts of a stage as indices, ordered by their end.
  const std::vector<size_t>& CommittedOf(uint32_t stage) const;
  // Returns Interval::worked of the committed attempts of a stage, sorted.
  std::vector<uint64_t> RunTimes(uint32_t stage) const;
  // Returns the slots of workers that are neither lost, draining nor excluded.
  uint32_t slots() const { return slots_; }
  // Returns the attempt with this name, or SIZE_MAX.
  size_t Find(const std::string& name) const;

 private:
  void Place();
  void FindInputs();
  std::optional<std::pair<uint32_t, uint32_t>> Range(const InputSpec& input, const TaskId& task) const;

  const JobRun& run_;
  std::vector<Interval> attempts_;
  std::vector<Lanes> workers_;
  std::map<std::pair<uint32_t, uint32_t>, std::vector<size_t>> tasks_;
  std::vector<std::vector<size_t>> committed_;
  std::map<std::string, size_t> names_;
  uint32_t slots_ = 0;
};

// Returns the middle value; 0 if there is none. Requires: sorted.
uint64_t MedianOf(const std::vector<uint64_t>& sorted);

}  // namespace mr::report
