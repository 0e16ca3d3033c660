// The master's answers as plain structs (client.capnp without Cap'n Proto).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/base/job_state.h"
#include "common/base/status.h"

namespace mr::ctl {

struct StageStatus {
  std::string name;
  bool planned = false;
  uint32_t tasks = 0, done = 0, running = 0, waiting = 0, failed = 0;
  uint64_t input_bytes = 0, taken_bytes = 0, output_bytes = 0, output_records = 0, elapsed_us = 0;
};

// Attempts of a job by cause of their launch: "first", "retry", "speculative", "restart", "clone", "opportunistic".
struct CauseStatus {
  std::string cause;
  uint64_t launched = 0, won = 0, wasted_us = 0;  // wasted: slot time of attempts that ended without a commit
};

// The clones of a job.
struct CloneStatus {
  uint64_t launched = 0, won = 0, killed = 0, extra_us = 0;  // extra: slot time of all attempts that did not commit
  uint64_t exclusive = 0, contended = 0, rebound = 0;        // numbers of reads
  uint64_t omega_us = 0;                                     // UINT64_MAX: no limit
  bool omega_known = false;
  uint64_t budget_used = 0, budget = 0;                                          // slots, of all jobs
  uint64_t lent_launched = 0, lent_won = 0, lent_killed = 0, lent_extra_us = 0;  // the first four, on idle slots
};

// One step of a policy that steers a job by its deadline. Times are seconds since the submission.
struct SteeringPoint {
  double at_s = 0, progress = 0;
  uint32_t slots = 0, asked = 0;      // guaranteed from then on; sufficient by the knowledge of then
  double left_s = 0, deadline_s = 0;  // left: expected, median; deadline 0: points of utility instead
};

struct SteeringStatus {
  std::vector<SteeringPoint> points;
  double held_slot_s = 0;  // slot time that was guaranteed to it
};

// A hot key in a stage's output.
struct SkewStatus {
  uint32_t stage = 0, partition = 0;
  std::string key;  // printable
  bool cut = false, partitions_known = false;
  uint64_t records = 0, bytes = 0, stage_records = 0, stage_bytes = 0, partition_bytes = 0, median_bytes = 0;
  std::string text;  // all fields in one line
};

// The deadline or utility of a job.
struct DeadlineInfo {
  uint64_t deadline_us = 0;  // from the submission; 0: none
  bool steered = false, predicted = false, best_effort = false;
  uint32_t runs = 0, guaranteed = 0, held = 0;
  double scale = 1;
};

struct CounterValue {
  std::string group, name;
  int64_t value = 0;
};

struct JobStatus {
  JobId id;
  std::string name, queue, output_uri, error, output_digest, submission_id;
  std::string last_failure;  // of a job that has not ended: one line, or empty
  JobState state = JobState::kUnknown;
  int32_t priority = 0;
  uint64_t submitted_unix_ms = 0, elapsed_us = 0, output_bytes = 0, output_records = 0;
  uint32_t output_parts = 0;
  std::vector<StageStatus> stages;
  std::vector<CauseStatus> causes;
  std::optional<CloneStatus> clones;
  std::optional<SteeringStatus> steering;
  std::optional<DeadlineInfo> deadline;
  std::vector<std::string> warnings;
  std::vector<std::string> hung;                      // descriptions of attempts without progress
  std::optional<std::vector<CounterValue>> counters;  // only if asked for, at the end of submit --local
  std::vector<SkewStatus> skew;
};

struct TaskStatus {
  std::string id, state, worker;
  std::vector<std::string> replicas;  // workers where its output can be read
  uint32_t stage = 0, attempts = 0, generation = 0;
};

struct AttemptStatus {
  std::string id, state, cause, worker, message, reason;
  double progress = 0;
  uint64_t ran_us = 0;
};

// The end of an attempt's log. note: why it is not the whole log; empty if it is.
struct AttemptLog {
  std::string id, worker, state;
  std::string text, note;
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
};

// The work left before a draining worker may stop (DrainStatus of client.capnp).
struct DrainStatus {
  bool draining = false, safe_to_stop = false;
  uint32_t attempts = 0;
  uint64_t blocks = 0, bytes = 0, left_blocks = 0, left_bytes = 0, being_written = 0;
  uint64_t outputs = 0, output_bytes = 0, thin_blocks = 0;
  std::vector<std::string> jobs, waits_for, left_files, thin_files;
  std::string note;
};

struct QueueStatus {
  std::string id;
  double weight = 1;
  uint32_t min_share = 0, max_share = 0, jobs = 0, held_slots = 0;
  bool waits = false;
};

// One decision of the scheduler, or its effect.
struct DecisionStatus {
  uint64_t at_us = 0;                         // since the submission
  std::string what, attempt, worker, reason;  // attempt, worker: empty if not concerned
};

// Lines of master/history's document, which mrsim reads.
struct JobHistory {
  std::string head, text;     // the document's head; the job's lines
  std::vector<JobId> beside;  // jobs that ran at the same time
};

// A stage of a profile; times in seconds (ProfileStage of client.capnp).
struct ProfileStage {
  struct Input {
    std::string edge;   // empty: files
    uint32_t from = 0;  // index of the upstream stage
  };
  std::string name;
  uint32_t tasks = 0;
  std::vector<Input> inputs;
  std::vector<float> run, wait;  // sorted
  double queue = 0, fails = 0, fails_again = 0, input_bytes = 0;
};

// The profile of earlier runs of jobs with one name and one shape of plan.
struct ProfileStatus {
  std::string id;  // of the shape
  std::string name;
  JobId last;  // the most recent job in it
  uint32_t runs = 0;
  uint64_t updated_unix_ms = 0;
  std::vector<ProfileStage> stages;
};

// The plan of a submit and the master's answer to it (ExplainedPlan of client.capnp).
struct Explained {
  struct Stage {
    std::string name;
    bool reduces = false;
    uint32_t tasks = 0, splits = 0, with_replica = 0, workers = 0;
    uint64_t input_bytes = 0;
  };
  struct Time {
    uint32_t slots = 0;
    uint64_t median_us = 0, most_us = 0;
    bool in_time = false;
  };
  std::vector<Stage> stages;
  std::vector<Status> refusals;
  uint32_t slots = 0, runs = 0;
  std::vector<Time> times;
  std::string basis;
  double scale = 1;
  bool steered = false, has_admission = false, admitted = false;
  uint32_t needs_slots = 0, available_slots = 0;
  uint64_t critical_path_us = 0, earliest_us = 0;  // 0: never
};

// The launch of an attempt, as far as it can be repeated elsewhere.
struct ReplayTask {
  struct Split {
    uint32_t input = 0;
    std::string uri, format;
    uint64_t offset = 0, length = 0, file_bytes = 0, sample_bytes = 0;
    uint64_t file = 0;  // id of the planned version in the block store; 0 = unknown
  };
  struct Port {
    bool files = false, sorted = false, combine = false, custom_partition = false;
    std::string format;
    uint32_t partitions = 1;
  };
  std::string library;  // SHA-256; empty: the built-in library
  std::string stage, job_name, op, config;
  uint32_t flags = 0, tasks = 0, inputs = 0;
  uint32_t edges = 0;  // number of inputs that other tasks wrote
  std::vector<Split> splits;
  std::vector<Port> ports;
  std::vector<std::pair<std::string, std::string>> env;
  uint64_t sort_buffer_bytes = 0, memory_bytes = 0, partition_seed = 0;
  uint64_t max_bad_records = 0;  // of its job
  struct SideFile {
    std::string name, sha256;
  };
  std::vector<SideFile> side_files;
};

// The result of a replay.
struct ReplayResult {
  bool done = false;
  std::string message, record;
  uint64_t records_in = 0, records_out = 0, output_bytes = 0, ran_us = 0;
  std::vector<CounterValue> counters;
};

struct MasterInfo {
  std::string version, policies;
  uint64_t cluster_id = 0;
  uint32_t master_epoch = 0, pid = 0;
  std::string address;     // the address that others use
  uint64_t unix_ms = 0;    // its clock at the answer; 0: an older master
  uint64_t file_view = 0;  // FileView() of its process; 0: unknown
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
};

}  // namespace mr::ctl
