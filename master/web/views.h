// The state of the master as pages show it: plain data, read once on the master's thread and never changed afterwards,
// so that any thread may make documents from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/base/ids.h"
#include "common/model/job_state.h"
#include "common/model/status.h"
#include "common/report/job_run.h"

namespace mr::web {

// Slots that a job held over time.
struct JobUsage {
  JobId id;
  std::string name;
  std::vector<uint32_t> busy;
};

// Slots of all workers over time, one value per second; the last is at to_unix_ms. Equal lengths.
struct UsageView {
  uint64_t period_ms = 1000, to_unix_ms = 0;
  std::vector<uint32_t> slots, busy, jobs;  // jobs: not ended
  std::vector<JobUsage> by_job;             // of `busy`: the jobs that held the most, the first one the most
};

struct RackView {
  uint32_t workers = 0, lost = 0, slots = 0, busy = 0;
};

// Blocks and space of the block store.
struct StoreCounts {
  uint64_t blocks = 0, missing = 0, under_replicated = 0, copying = 0, suspect = 0, used_bytes = 0, capacity_bytes = 0;
};

struct ClusterView {
  uint64_t cluster_id = 0, taken_unix_ms = 0;
  uint32_t epoch = 0;
  bool insecure = false;  // anybody may connect (--insecure)
  std::string release, policies;
  std::string address;  // of the master, for workers and clients
  std::vector<std::string> warnings;
  uint32_t slots = 0, busy = 0;
  std::map<std::string, uint32_t> workers;  // by state
  std::map<std::string, RackView> racks;
  std::map<JobState, uint64_t> jobs;
  uint64_t live = 0, launched = 0, committed = 0, failed = 0, killed = 0;  // attempts
  UsageView usage;
  StoreCounts store;
  std::vector<QueueStatus> queues;
  std::vector<JobStatus> open, ended;  // newest first
  uint64_t open_left_out = 0;
};

struct WorkersView {
  std::vector<WorkerStatus> workers;
};

// An attempt that ended on a worker.
struct EndedAttempt {
  AttemptStatus status;
  std::string job, stage;  // names
  uint64_t launched_unix_ms = 0;
};

struct WorkerView {
  WorkerStatus worker;
  DrainStatus drain;
  std::vector<AttemptStatus> running;
  std::vector<EndedAttempt> ended;  // of recent jobs, the latest end first; bounded
  std::vector<std::string> why;     // its state, and why the scheduler avoids it
};

// An entry of the store's root directory.
struct StoreEntry {
  std::string path;
  bool directory = false;
  uint64_t bytes = 0;
  uint32_t replication = 0;
};

struct StoreView {
  StoreCounts counts;
  std::string safe_mode;  // why nothing may change; empty: it may
  std::vector<WorkerStatus> workers;
  std::vector<StoreEntry> entries;
  bool more_entries = false;
};

struct PolicyView {
  std::string name, text;  // text: with its parameters, as in the list
  bool cluster_scope = false;
  std::vector<std::string> does;
};

struct FigureView {
  std::string name, label;
  double value = 0;  // may be infinite: not limited
};

struct SchedulerView {
  std::string list;
  uint64_t seed = 0;
  uint32_t version = 0;
  std::vector<PolicyView> policies;
  std::vector<FigureView> figures;  // those of one name together
  std::vector<CauseStatus> causes;
  CloneStatus clones;
  std::vector<QueueStatus> queues;
};

struct JobsView {
  std::vector<JobStatus> jobs;  // newest first
  JobId next;                   // the first of the next page is before it; not valid: there is none
};

struct Found {
  std::string kind, id, text;  // kind: "job" or "worker"
};
struct SearchView {
  std::vector<Found> results;
};

// The end of an attempt's log.
struct LogView {
  std::string note;  // which part it is, and how to read the rest; empty: it is the whole log
  std::string text;  // bytes of the attempt's process
};

using View = std::variant<ClusterView, WorkersView, WorkerView, StoreView, SchedulerView, JobsView, SearchView, LogView,
                          report::JobRun>;

}  // namespace mr::web
