// Ids of jobs, stages, tasks, attempts, outputs, workers and blocks, each a type of its own. Zero is
// never valid (JobId.seq, WorkerId, Incarnation, AttemptId.number). Stage and task numbers are
// indexes from 0 in their job and stage, and mean nothing without them.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mr {

// Identifies a job. epoch: the master epoch under which the job was accepted; seq: 1, 2, ... within it.
struct JobId {
  uint32_t epoch = 0;
  uint32_t seq = 0;
  auto operator<=>(const JobId&) const = default;
  bool valid() const { return epoch != 0 && seq != 0; }
};

struct StageId {
  JobId job;
  uint32_t stage = 0;
  auto operator<=>(const StageId&) const = default;
};

struct TaskId {
  JobId job;
  uint32_t stage = 0;
  uint32_t task = 0;
  auto operator<=>(const TaskId&) const = default;
  StageId stage_id() const { return {job, stage}; }
};

// Identifies an attempt of a task. number: 1, 2, ... and 1000 x (master restarts since submit) + 1, ... after a
// restart.
struct AttemptId {
  TaskId task;
  uint32_t number = 0;
  auto operator<=>(const AttemptId&) const = default;
  bool valid() const { return task.job.valid() && number != 0; }
};

// Identifies a worker. The master assigns it at the first registration; one per cluster and data directory of a worker.
struct WorkerId {
  uint32_t value = 0;
  auto operator<=>(const WorkerId&) const = default;
  bool valid() const { return value != 0; }
};

// A random number that a worker process chooses when it starts. It identifies one life of a worker.
using Incarnation = uint64_t;

// A task's output of one generation. The generation rises on loss or rollback.
struct OutputId {
  TaskId task;
  uint32_t generation = 0;
  auto operator<=>(const OutputId&) const = default;
};

struct BlockId {
  uint64_t value = 0;
  auto operator<=>(const BlockId&) const = default;
  bool valid() const { return value != 0; }
};

// Letters of task and attempt names: 'm' reads splits, 'r' reads other stages' outputs.
enum class TaskLetter : char { kMap = 'm', kReduce = 'r' };

// Returns job_<epoch>_<0001>
std::string Name(JobId id);
// Returns task_<epoch>_<0001>_<stage>_<m|r>_<000017>
std::string Name(TaskId id, TaskLetter letter);
// Returns attempt_<epoch>_<0001>_<stage>_<m|r>_<000017>_<number>
std::string Name(AttemptId id, TaskLetter letter);
// Returns w<value>
std::string Name(WorkerId id);

// Parse a name. Return nothing if the text is not exactly such a name.
std::optional<JobId> ParseJobId(std::string_view text);
std::optional<AttemptId> ParseAttemptId(std::string_view text);
std::optional<WorkerId> ParseWorkerId(std::string_view text);

}  // namespace mr
