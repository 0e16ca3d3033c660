// Statuses of jobs, queues, draining workers and the journal, for people and programs. client.capnp explains the
// fields, and has their wire form (common/rpc/client_wire.h). Times are microseconds unless a name says otherwise.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/digest.h"
#include "common/base/ids.h"
#include "common/model/job_state.h"
#include "common/model/output.h"

namespace mr {

struct StageStatus {
  std::string name;
  bool planned = false;
  uint32_t tasks = 0, done = 0, running = 0, waiting = 0, failed = 0;
  uint64_t input_bytes = 0, taken_bytes = 0, output_bytes = 0, output_records = 0, elapsed_us = 0;
  bool operator==(const StageStatus&) const = default;
};

// Attempts of a job by cause of their launch: "first", "retry", "speculative", "restart", "clone", "opportunistic".
struct CauseStatus {
  std::string cause;
  uint64_t launched = 0, won = 0, wasted_us = 0;  // wasted: slot time of attempts that ended without a commit
  bool operator==(const CauseStatus&) const = default;
};

// The clones of a job.
struct CloneStatus {
  uint64_t launched = 0, won = 0, killed = 0, extra_us = 0;  // extra: of attempts that did not commit, of cloned tasks
  uint64_t exclusive = 0, contended = 0, rebound = 0;        // numbers of reads
  uint64_t omega_us = 0;                                     // UINT64_MAX: no limit
  bool omega_known = false;
  uint64_t budget_used = 0, budget = 0;                                          // slots, of all jobs
  uint64_t lent_launched = 0, lent_won = 0, lent_killed = 0, lent_extra_us = 0;  // the first four, on idle slots
  bool operator==(const CloneStatus&) const = default;
};

// One step of a policy that steers a job by its deadline. Times are seconds since the submission.
struct SteeringPoint {
  double at_s = 0, progress = 0;
  uint32_t slots = 0, asked = 0;      // slots: guaranteed from then on; asked: sufficient, as estimated then
  double left_s = 0, deadline_s = 0;  // left: expected, median; deadline 0: points of utility instead
  bool operator==(const SteeringPoint&) const = default;
};

struct SteeringStatus {
  std::vector<SteeringPoint> points;
  double held_slot_s = 0;  // slot time that was guaranteed to it
  bool operator==(const SteeringStatus&) const = default;
};

// A hot key in a stage's output.
struct SkewStatus {
  uint32_t stage = 0, partition = 0;
  std::string key;  // printable
  bool cut = false, partitions_known = false;
  uint64_t records = 0, bytes = 0, stage_records = 0, stage_bytes = 0, partition_bytes = 0, median_bytes = 0;
  std::string text;  // all fields in one line
  bool operator==(const SkewStatus&) const = default;
};

// The deadline or utility of a job.
struct DeadlineStatus {
  uint64_t deadline_us = 0;  // from the submission; 0: none
  bool steered = false, predicted = false, best_effort = false;
  uint32_t runs = 0, guaranteed = 0, held = 0, asked = 0;
  double scale = 1;
  uint64_t ends_us = 0, spread_us = 0, promised_ends_us = 0;  // from the submission; 0: not known
  bool operator==(const DeadlineStatus&) const = default;
};

struct JobStatus {
  JobId id;
  std::string local_id;  // "local_0017" where it is read from the record of a local run; not sent
  std::string name, queue, output_uri, error, submission_id, owner;
  Digest128 output_digest;
  std::string last_failure;  // of a job that has not ended: one line, or empty
  JobState state = JobState::kUnknown;
  int32_t priority = 0;
  uint64_t submitted_unix_ms = 0, elapsed_us = 0, output_bytes = 0, output_records = 0;
  uint32_t output_parts = 0;
  std::vector<StageStatus> stages;
  std::vector<CauseStatus> causes;
  std::optional<CloneStatus> clones;
  std::optional<SteeringStatus> steering;
  std::optional<DeadlineStatus> deadline;
  std::vector<std::string> warnings;
  std::vector<std::string> hung;   // descriptions of attempts without progress
  std::vector<std::string> waits;  // why it runs nothing, or no more, although it could; at most 20 lines
  std::optional<std::vector<CounterValue>> counters;  // not sent with the rest: mrctl requests them if it shows them
  std::vector<SkewStatus> skew;
  bool operator==(const JobStatus&) const = default;
};
// Returns the name under which commands find the job: job_1_0001 or local_0017.
inline std::string Name(const JobStatus& job) { return job.local_id.empty() ? Name(job.id) : job.local_id; }

struct TaskStatus {
  std::string id, state, worker;
  std::vector<std::string> replicas;  // workers where its output can be read
  uint32_t stage = 0, attempts = 0, generation = 0;
  uint64_t input_bytes = 0, output_bytes = 0, output_records = 0;  // input 0: not known; output: committed
  bool operator==(const TaskStatus&) const = default;
};

// An attempt. Times are since the submission; 0: not yet, or not known.
struct AttemptStatus {
  std::string id, state, cause, worker, message, reason;
  double progress = 0;
  uint64_t ran_us = 0;
  uint64_t launched_us = 0, started_us = 0, ended_us = 0;
  uint64_t inputs_us = 0;               // when it had read all outputs of earlier stages
  uint64_t sort_us = 0, reduce_us = 0;  // first reports of these phases of a reduce
  bool won = false;                     // its output committed the task
  std::string failure;                  // "user", "environment", "lost", "killed", "preempted"; empty: none
  bool operator==(const AttemptStatus&) const = default;
};

// One decision of the scheduler, or its effect.
struct DecisionStatus {
  uint64_t at_us = 0;                         // since the submission
  std::string what, attempt, worker, reason;  // attempt, worker: empty if not concerned
  bool operator==(const DecisionStatus&) const = default;
};

struct WorkerStatus {
  std::string id, name, address, rack, state;
  uint32_t slots = 0, busy = 0, blocks = 0, pid = 0;
  uint64_t incarnation = 0, used_bytes = 0, capacity_bytes = 0;
  uint64_t memory_bytes = 0;      // of all its attempts together; 0: no limit
  uint32_t reports_given_up = 0;  // reports that it could not deliver
  std::vector<std::string> labels;
  uint32_t wrong_outputs = 0;  // outputs that its memory damaged
  bool safe_to_stop = false;   // draining, and nothing is lost or must be repeated when it stops
  int8_t tier = -1;            // of the rooms of its tasks; -1: not known
  uint64_t disk = 0;           // equal for workers that share a file system; 0: not known
  bool operator==(const WorkerStatus&) const = default;
};

// The work left before a draining worker may stop (client.capnp has what the fields mean).
struct DrainStatus {
  bool draining = false, safe_to_stop = false;
  uint32_t attempts = 0;
  uint64_t blocks = 0, bytes = 0, left_blocks = 0, left_bytes = 0, being_written = 0;
  uint64_t outputs = 0, output_bytes = 0, thin_blocks = 0;
  std::vector<JobId> jobs;  // at most the first 20
  std::vector<std::string> waits_for, left_files, thin_files;
  std::string note;
  bool operator==(const DrainStatus&) const = default;
};

struct QueueStatus {
  std::string name;
  double weight = 1;
  uint32_t min_share = 0, max_share = 0, jobs = 0, held_slots = 0;
  bool waits = false;
  bool operator==(const QueueStatus&) const = default;
};

// State of the master's journal.
struct JournalStatus {
  bool lost = false;        // records are lost, and no operator has accepted that: safe mode
  uint32_t lost_epoch = 0;  // of the most recent loss, even an accepted one; 0: none
  uint64_t lost_sequence = 0, kept = 0, found_unix_ms = 0;
  std::string found_by;                  // name of a worker; empty: the journal's own witness
  std::string text;                      // the loss and the choices
  bool awaits_workers = false;           // after a start, until workers have reported their blocks
  std::vector<std::string> passed_over;  // damaged parts that the start skipped
  bool full = false;
  uint64_t disk_bytes = 0, free_bytes = 0;
  std::string witness_failure;
  bool operator==(const JournalStatus&) const = default;
};

}  // namespace mr
