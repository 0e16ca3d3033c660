// The master's answers as plain structs (client.capnp without Cap'n Proto).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/model/command.h"
#include "common/model/split.h"
#include "common/model/status.h"

namespace mr::ctl {

// A part of an attempt's log.
struct AttemptLog {
  std::string id, worker, state;
  std::string text, note;  // note: the text's source if not the worker, and why it is not complete; or empty
  uint64_t start = 0;      // place of the text's first byte in all that the attempt wrote
  bool ended = false;      // nothing follows what can be read now
};

// An answer to Client::RequestLog.
struct LogAnswer {
  AttemptId attempt;
  Result<AttemptLog> log;
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
  std::string account;                             // the admission in a clause
};

// The launch of an attempt, as far as it can be repeated elsewhere.
struct ReplayTask {
  StageInfo stage;
  LaunchCommand launch;  // each split is of an input that is files
  const FileInput& FilesOf(const mr::Split& split) const { return stage.spec.inputs[split.input].files; }
};

// The result of a replay.
struct ReplayResult {
  bool done = false;
  std::string message, record;
  uint64_t records_in = 0, records_out = 0, output_bytes = 0, ran_us = 0;
  std::vector<CounterValue> counters;
};

// Whether a worker reached another daemon at its advertised address.
struct ReachedPeer {
  WorkerId worker;  // not valid: the master
  std::string address;
  Status status;
};

struct MasterInfo {
  std::string version, policies;
  uint64_t cluster_id = 0;
  uint32_t master_epoch = 0, pid = 0;
  std::string address;                                     // the address that others use
  uint64_t unix_ms = 0;                                    // its clock at the answer; 0: an older master
  uint64_t file_view = 0;                                  // FileView() of its process; 0: unknown
  bool ignores_deadlines = false, ignores_queues = false;  // no policy of its list serves them
  std::string scratch;                                     // where this user makes temporary paths of the block store
};

}  // namespace mr::ctl
