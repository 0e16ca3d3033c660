// Types that describe a simulation: a cluster, jobs and faults. Task times are in task_model.h. Plain data. Where they
// are doubles, times are in seconds and rates in bytes per second.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/base/time.h"
#include "master/sched/model.h"
#include "master/sched/prediction.h"
#include "master/sim/engine/task_model.h"

namespace mr::sim {

// 1 Gbit/s, the hosts' interfaces in Dolly's cluster (NSDI'13, section 6).
inline constexpr double kGigabit = 125e6;

// Bytes per record, a guess: records are not modelled.
inline constexpr double kRecordBytes = 100;

// A machine that several workers (virtual machines) share. Its interfaces are those of its first worker.
struct HostSpec {
  // Bytes per second of disk for each of its workers. The first entry holds while one worker uses its disk, the second
  // for two, and so on. The last entry holds for all larger numbers.
  std::vector<double> disk;
};

inline constexpr uint32_t kNoHost = ~0u;

struct WorkerSpec {
  uint32_t rack = 0;
  sched::Slots slots;
  double speed = 1;     // of computing; 0.5 takes twice as long
  double disk = 240e6;  // the 61.8 MB/s of LATE's disks (OSDI'08, 5.1) times four disks, a guess
  double up = kGigabit, down = kGigabit;
  uint32_t host = kNoHost;  // index in ClusterSpec::hosts; the worker then shares the host's disk
  double cores = 0;         // shared by all that computes there; 0: one core per attempt
  // Foreign load: processes that compute without end, and processes that write to the disk without end.
  uint32_t cpu_hogs = 0, disk_hogs = 0;
  // Share of the disk that each of the latter takes, over that of an attempt's stream. Above 1: writes that the kernel
  // collects go to the disk in bulk, and readers wait behind them.
  double hog_weight = 1;
  double loss = 0;  // P(an output kept here is unreadable when the first reader comes)
  double from = 0;  // when it registers, in seconds
};

struct RackSpec {
  std::string name;
  double up = 0, down = 0;  // 0: full bisection, never short
};

struct ClusterSpec {
  std::vector<RackSpec> racks;
  std::vector<HostSpec> hosts;
  std::vector<WorkerSpec> workers;  // WorkerId i + 1
  uint32_t slots() const;
};

// Parses "150x12" (workers x slots), "62x4m2r" (slots per kind), or the path of a TOML file (README.md).
// Errors: kInvalidArgument names the fault; kNotFound: no such file.
Result<ClusterSpec> ParseCluster(const std::string& spec);
Result<ClusterSpec> ParseClusterToml(const std::string& text, const std::string& name);

// Shares of a recorded attempt's time. The rest is the reduce phase.
struct PhaseShares {
  float copy = 0, sort = 0;
};

struct StageModel {
  std::string name;
  sched::SlotKind kind = sched::SlotKind::kMap;
  uint32_t tasks = 1;
  uint64_t bytes = 0;  // input bytes over all tasks
  uint64_t output_bytes = 0;
  std::vector<sched::StageInput> inputs;
  // Recorded seconds per task; empty: the time follows from bytes and cost. The first attempt of task t takes entry t
  // modulo their number. Any other attempt takes a random one.
  std::vector<float> durations;
  // Further facts of a trace; each may be empty.
  std::vector<PhaseShares> shares;   // one per entry of `durations`
  std::vector<uint64_t> task_bytes;  // input bytes per task; empty: `bytes` is split evenly
  // Per task: the workers with the block, modulo the cluster's size; none: it is nowhere nearer. Empty: places are
  // drawn.
  std::vector<std::vector<uint32_t>> preferred;
  bool silent = false;  // attempts report no progress, as naps do
  double taken = 1;     // share of the announced bytes that an attempt has reported as taken when its last phase ends
  bool side_effects = false;  // never more than one attempt at a time
  uint64_t input_key = 0;     // stages with the same key have their blocks at the same places; 0: no key
  uint64_t BytesOf(uint32_t task) const { return task_bytes.empty() ? bytes / tasks : task_bytes[task]; }
  // Number of naps per attempt, each U(0, longest_nap) seconds; the attempt does nothing else. 0: no naps.
  uint32_t naps = 0;
  double longest_nap = 0;
  bool same_everywhere = false;  // durations and naps do not depend on the worker's speed
};

struct JobModel {
  double submit = 0;
  std::string name;
  std::vector<StageModel> stages;
  std::string queue;
  int32_t priority = 0;
  std::vector<std::string> policies;  // of job scope, instead of the cluster's; empty: the cluster's
  double deadline = 0;                // seconds from its submit; 0: none
  // The prediction that the scheduler gets at the submit. Null: none, or what the run learned (Experiment::learn).
  std::shared_ptr<const sched::Prediction> prediction;
  uint32_t tasks() const;
};
// Returns a job with a map stage and, where reduces > 0, an all-to-all reduce stage.
JobModel MapReduce(double submit, std::string name, uint32_t maps, uint64_t input, uint32_t reduces, uint64_t shuffle,
                   uint64_t output);

// Parses the table [task] of a model file (README.md). Keys that it lacks keep their defaults.
Result<TaskModel> ParseTasksToml(const std::string& text, const std::string& name);

enum class FaultKind : uint8_t { kCrash, kOutputLost, kContention };
struct Fault {
  FaultKind kind = FaultKind::kCrash;
  double at = 0;
  uint32_t worker = 0;
  double lasts = 0;   // crash: until it is back, 0: never; contention: until it ends
  double factor = 1;  // contention: slowdown
};

struct FaultPlan {
  std::vector<Fault> faults;
  double late = 0, lost = 0, twice = 0;  // probabilities, for each launch and each report of an end
  Duration lease = Seconds(10);          // from a crash to WorkerLost
  Duration late_by = Seconds(30);        // maximum
  Duration resend = Seconds(3);          // from losing a message to sending it again
  Duration probe = Seconds(1);           // from a failed read to ReplicaLost: a guess
};

// Generates jobs from "generate:facebook", "generate:bing,jobs=500,gap=2", "generate:mumak" and so on (generate.cc).
Result<std::vector<JobModel>> Generate(const std::string& spec, uint64_t seed);
// Generates jobs, or reads a trace (workload.h) whose first line names its format.
Result<std::vector<JobModel>> LoadWorkload(const std::string& workload, const std::string& data, uint64_t seed);

}  // namespace mr::sim
