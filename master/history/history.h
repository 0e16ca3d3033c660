// The run of a job as a document: all attempts of its tasks, with their workers and times. It is taken from the
// scheduler's state while that knows the job. A master (`mrctl whatif`) or a replay of its journal writes it as text,
// and the simulator reads it. Plain data; instants are the master's stamps, in nanoseconds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "master/sched/state/state.h"

namespace mr::history {

struct Attempt {
  uint32_t number = 0;
  Cause cause = Cause::kFirst;
  sched::AttemptState state = sched::AttemptState::kLaunched;
  WorkerId worker;
  Instant launched, started, inputs_done, ended;  // 0: not yet, or not known
  // Its last report of progress; `reported` 0: there was none. Bytes of that phase (0 read, 1 shuffle,
  // 2 merge, 3 reduce, 4 write); total 0: not known.
  Instant reported;
  uint64_t taken = 0, total = 0;
  uint8_t phase = 0;
  bool operator==(const Attempt&) const = default;
};

struct Task {
  uint64_t input_bytes = 0, output_bytes = 0;  // 0: not known, or nothing
  uint32_t winner = 0;                         // attempt number; 0: not committed
  std::vector<WorkerId> preferred;
  std::vector<Slice> slices;
  std::vector<Attempt> attempts;
  const Attempt* Winner() const;  // null: not committed
  bool operator==(const Task&) const = default;
};

struct Stage {
  sched::StageSpec spec;
  std::vector<Task> tasks;  // empty where it was never planned
  bool operator==(const Stage&) const = default;
};

struct Job {
  JobId id;
  std::string name, queue;
  int32_t priority = 0;
  sched::JobState state = sched::JobState::kRunning;
  std::vector<std::string> policies;
  Instant submitted, ended;
  Duration deadline;  // since the submission; 0: none
  std::vector<Stage> stages;
  uint32_t tasks() const;
  bool operator==(const Job&) const = default;
};

struct Worker {
  WorkerId id;
  std::string rack;
  sched::Slots slots;
  Instant from, until;  // 0: before all jobs; until the end
  bool operator==(const Worker&) const = default;
};

struct Document {
  std::string run;       // local_0017 of a recorded local run, whose jobs have no other id; empty: jobs of a master
  std::string policies;  // the last list
  // All lists, the last one too, by the time at which they came into force; empty in documents of old releases.
  std::vector<sched::ListInForce> lists;
  uint64_t seed = 1;
  std::vector<sched::QueueSet> queues;
  std::vector<Worker> workers;
  std::vector<Job> jobs;  // by submission
  uint32_t left_out = 0;  // jobs that ran at the same time and are not in `jobs`
};

// Each returns the document's part for a part of the state. Attempts that have no end yet get none.
Job JobOf(const sched::Job& job);
Job JobWithoutStages(const sched::Job& job);
Task TaskOf(const sched::Task& task);
Worker WorkerOf(const sched::Worker& worker);
// Returns a document with policies, seed, queues and the present workers, without jobs.
Document FrameOf(const sched::State& state);

// Returns the head as lines of words separated by tabs; the first line is the magic word and the version. The
// document is the head, then WriteJob of each job.
std::string WriteHead(const Document& document);
std::string WriteJob(const Job& job);
// A page of the job's lines: from its task `from` on (counted over all stages), up to about `bytes`. next: the
// first task of the next page; 0: this was the last one.
struct Page {
  std::string text;
  uint32_t next = 0;
};
Page WritePage(const sched::Job& job, uint32_t from, size_t bytes);
// Returns the line that names the run of the document; it stands below the first line.
std::string WriteRun(const std::string& run);
std::string Write(const Document& document);
// Returns whether the text begins like a document.
bool IsHistory(std::string_view text);
// Parses a document. name: for messages. Errors: kInvalidArgument with the wrong line; kRejected for a later version.
Result<Document> Read(std::string_view text, const std::string& name);
// Parses one document or more, each behind the other. Requires: IsHistory(text), else there is an error. Errors: as
// Read.
Result<std::vector<Document>> ReadAll(std::string_view text, const std::string& name);

}  // namespace mr::history
