// What a master says, as plain structs (client.capnp without Cap'n Proto).
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

// Attempts of a job by why they were launched: "first", "retry", "speculative", "restart", "clone", "opportunistic".
struct CauseStatus {
  std::string cause;
  uint64_t launched = 0, won = 0, wasted_us = 0;  // wasted: slot time of those that ended and did not commit
};

// Of a job whose tasks ran as clones.
struct CloneStatus {
  uint64_t launched = 0, won = 0, killed = 0, extra_us = 0;  // extra: slot time of all that did not commit
  uint64_t exclusive = 0, contended = 0, rebound = 0;        // reads
  uint64_t omega_us = 0;                                     // UINT64_MAX: for ever
  bool omega_known = false;
  uint64_t budget_used = 0, budget = 0;                                          // slots, of all jobs
  uint64_t lent_launched = 0, lent_won = 0, lent_killed = 0, lent_extra_us = 0;  // the first four, on idle slots
};

// One step of a policy that steers a job by its deadline. Seconds since the submit.
struct SteeringPoint {
  double at_s = 0, progress = 0;
  uint32_t slots = 0, asked = 0;      // guaranteed from then on; that would do by what was known then
  double left_s = 0, deadline_s = 0;  // left: expected, median; deadline: 0 = points of utility instead
};

struct SteeringStatus {
  std::vector<SteeringPoint> points;
  double held_slot_s = 0;  // slot time that it was guaranteed
};

// A key that has too much of a stage's output.
struct SkewStatus {
  uint32_t stage = 0, partition = 0;
  std::string key;  // printable
  bool cut = false, partitions_known = false;
  uint64_t records = 0, bytes = 0, stage_records = 0, stage_bytes = 0, partition_bytes = 0, median_bytes = 0;
  std::string text;  // all that, in one line
};

// Of a job with a deadline or a utility.
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
  std::vector<std::string> hung;                      // attempts without progress, in words
  std::optional<std::vector<CounterValue>> counters;  // where they were asked for: at the end of submit --local
  std::vector<SkewStatus> skew;
};

struct TaskStatus {
  std::string id, state, worker;
  std::vector<std::string> copies;  // workers where its output can be read
  uint32_t stage = 0, attempts = 0, generation = 0;
};

struct AttemptStatus {
  std::string id, state, cause, worker, message, reason;
  double progress = 0;
  uint64_t ran_us = 0;
};

// The end of what an attempt wrote. note: not empty where there is less than that, and why.
struct AttemptLog {
  std::string id, worker, state;
  std::string text, note;
};

struct WorkerStatus {
  std::string id, name, address, rack, state;
  uint32_t slots = 0, busy = 0, blocks = 0, pid = 0;
  uint64_t incarnation = 0, used_bytes = 0, capacity_bytes = 0;
  uint64_t memory_bytes = 0;      // of its attempts together; 0: not limited
  uint32_t reports_given_up = 0;  // that it could not deliver
  std::vector<std::string> labels;
  uint32_t wrong_outputs = 0;  // that its memory damaged
  bool safe_to_stop = false;   // it is draining, and nothing is lost and nothing runs again when it stops
};

// What keeps a worker that is drained (DrainStatus of client.capnp).
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

// One of the scheduler's, or what became of it.
struct DecisionStatus {
  uint64_t at_us = 0;                         // since the submit
  std::string what, attempt, worker, reason;  // attempt, worker: empty where none is meant
};

// Lines of master/history's document, which mrsim reads.
struct JobHistory {
  std::string head, text;     // the document's beginning; the job's lines
  std::vector<JobId> beside;  // jobs that ran beside it
};

// One of all; seconds (ProfileStage of client.capnp).
struct ProfileStage {
  struct Input {
    std::string edge;   // empty: files
    uint32_t from = 0;  // stage
  };
  std::string name;
  uint32_t tasks = 0;
  std::vector<Input> inputs;
  std::vector<float> run, wait;  // sorted
  double queue = 0, fails = 0, fails_again = 0, input_bytes = 0;
};

// What earlier runs of jobs of one name and one shape of plan taught.
struct ProfileStatus {
  std::string id;  // of the shape
  std::string name;
  JobId last;  // the newest job in it
  uint32_t runs = 0;
  uint64_t updated_unix_ms = 0;
  std::vector<ProfileStage> stages;
};

// What a submit would run and be answered (ExplainedPlan of client.capnp).
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

// What a worker was told of an attempt, as far as it can be run again elsewhere.
struct ReplayTask {
  struct Split {
    uint32_t input = 0;
    std::string uri, format;
    uint64_t offset = 0, length = 0, file_bytes = 0, sample_bytes = 0;
    uint64_t file = 0;  // id of the version that was planned, in the block store; 0 = not known
  };
  struct Port {
    bool files = false, sorted = false, combine = false, custom_partition = false;
    std::string format;
    uint32_t partitions = 1;
  };
  std::string library;  // SHA-256; empty: the built-in one
  std::string stage, job_name, op, config;
  uint32_t flags = 0, tasks = 0, inputs = 0;
  uint32_t edges = 0;  // inputs that other tasks wrote
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

// What came of it.
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
  std::string address;     // as others reach it
  uint64_t unix_ms = 0;    // its clock when it answered; 0: an older master
  uint64_t file_view = 0;  // FileView() of its process; 0: not known
};

// How the master's journal is.
struct JournalStatus {
  bool lost = false;        // records are lost, and nobody has accepted that: safe mode
  uint32_t lost_epoch = 0;  // of the last loss, also an accepted one; 0: there was none
  uint64_t lost_sequence = 0, kept = 0, found_unix_ms = 0;
  std::string found_by;                  // a worker's name; empty: the journal's own witness
  std::string text;                      // the loss and the choices
  bool awaits_workers = false;           // after a start, until workers have reported their blocks
  std::vector<std::string> passed_over;  // what the start found damaged and did without
  bool full = false;
  uint64_t disk_bytes = 0, free_bytes = 0;
  std::string witness_failure;
};

}  // namespace mr::ctl
