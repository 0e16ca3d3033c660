// Reads the attempts of jobs: the scheduler's facts, each with its note.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "master/core/attempts.h"
#include "master/core/jobs.h"

namespace mr::master {

// The tasks of a stage that are committed now, and its live attempts: those that run, and those that wait for inputs.
struct StageCounts {
  uint32_t done = 0, running = 0, waiting = 0;
};

// Slot time so far of attempts that hold a slot and whose output is not needed any more.
struct UnneededTime {
  std::array<Duration, kCauses> by_cause{};
  Duration cloned, lent;  // of tasks that have a clone; of those of the others that have one on an idle slot
};

// Valid as long as the state and the jobs that it reads. Jobs in brief have no attempts.
class AttemptReader {
 public:
  AttemptReader(const sched::State& state, const Jobs& jobs) : state_(state), jobs_(jobs) {}

  // Returns the attempt, or nothing where the scheduler does not know it.
  std::optional<AttemptView> Find(const AttemptId& id) const;
  // Returns the job's attempts behind this one, in the order of their ids, at most `most`. after: zero for all.
  std::vector<AttemptView> Of(JobId job, const AttemptId& after = {}, size_t most = SIZE_MAX) const;
  // Returns the attempts of the task.
  std::vector<AttemptView> Of(const TaskId& task) const;
  // Returns the counts of a stage. Cost: its live attempts. Requires: the job has the stage.
  StageCounts Counts(const JobView& job, uint32_t stage) const;
  // Returns the time until `now` of the job's attempts that are being stopped, and of all where its output is decided.
  // It is counted in the job's notes when they have ended. Cost: the live attempts.
  UnneededTime Unneeded(const JobView& job, Instant now) const;
  // Returns the live attempts of the job.
  uint32_t Live(JobId job) const;

 private:
  void Add(const TaskId& id, const sched::Task& task, uint32_t after, size_t most, std::vector<AttemptView>* all) const;

  const sched::State& state_;
  const Jobs& jobs_;
};

}  // namespace mr::master
