// What a simulation is made of: a cluster, jobs, how long tasks take, what goes wrong. Plain data;
// times in seconds and rates in bytes per second where they are doubles.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/base/time.h"
#include "master/sched/model.h"
#include "master/sched/prediction.h"

namespace mr::sim {

// One Gbit/s, the hosts' interfaces in Dolly's cluster (papers.md 1.4).
inline constexpr double kGigabit = 125e6;

// A machine that several workers (virtual machines) share. Its interfaces are those of its first worker.
struct HostSpec {
  // Bytes per second of disk that each of its workers has, by how many of them use theirs (the first: by
  // one; the last goes on for more).
  std::vector<double> disk;
};

inline constexpr uint32_t kNoHost = ~0u;

struct WorkerSpec {
  uint32_t rack = 0;
  sched::Slots slots;
  double speed = 1;     // of computing
  double disk = 240e6;  // LATE's 61.8 MB/s of one disk (papers.md 3.2), by four disks, a guess
  double up = kGigabit, down = kGigabit;
  uint32_t host = kNoHost;  // in ClusterSpec::hosts, whose disk is shared then
  double cores = 0;         // shared by what computes there; 0: one for each
  // Load that is not ours: processes that compute for ever, and such as write to the disk for ever.
  uint32_t cpu_hogs = 0, disk_hogs = 0;
  double loss = 0;  // P(an output kept here cannot be read when the first reader comes)
  double from = 0;  // seconds; when it registers
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

// "150x12" (workers x slots), "62x4m2r" (caps per kind), or the path of a TOML file (README.md).
// kInvalidArgument with what is wrong; kNotFound where the file is missing.
Result<ClusterSpec> ParseCluster(const std::string& spec);
Result<ClusterSpec> ParseClusterToml(const std::string& text, const std::string& name);

// Parts of a recorded attempt's time; the rest is reduce.
struct PhaseShares {
  float copy = 0, sort = 0;
};

struct StageModel {
  std::string name;
  sched::SlotKind kind = sched::SlotKind::kMap;
  uint32_t tasks = 1;
  uint64_t bytes = 0;  // of input, over all tasks
  uint64_t output_bytes = 0;
  std::vector<sched::StageInput> inputs;
  // Seconds, by task, of a trace; empty: made from bytes and cost. The first attempt of task t takes the
  // t-th of them (modulo their number), any other attempt one of them by chance.
  std::vector<float> durations;
  // What a trace says besides; each may be empty.
  std::vector<PhaseShares> shares;               // by record of `durations`
  std::vector<uint64_t> task_bytes;              // of input, by task; else `bytes` is split evenly
  std::vector<std::vector<uint32_t>> preferred;  // by task: workers with the block, modulo the cluster's
  bool silent = false;                           // attempts say nothing of their progress, as naps do
  bool side_effects = false;                     // never more than one attempt at a time
  uint64_t input_key = 0;                        // not 0: blocks lie as those of each stage of this key
  uint64_t BytesOf(uint32_t task) const { return task_bytes.empty() ? bytes / tasks : task_bytes[task]; }
  // An attempt naps so often, each time for U(0, longest_nap) seconds, and does nothing else; 0: none.
  uint32_t naps = 0;
  double longest_nap = 0;
  bool same_everywhere = false;  // durations and naps: whatever the speed of the worker
};

struct JobModel {
  double submit = 0;
  std::string name;
  std::vector<StageModel> stages;
  std::string queue;
  int32_t priority = 0;
  std::vector<std::string> policies;  // of job scope, in place of the cluster's; empty: those
  double deadline = 0;                // seconds from its submit; 0: none
  // What the scheduler is told of it at its submit; null: nothing, or what the run learned (Experiment::learn).
  std::shared_ptr<const sched::Prediction> prediction;
  uint32_t tasks() const;
};
// A map stage, and an all-to-all reduce stage where reduces > 0.
JobModel MapReduce(double submit, std::string name, uint32_t maps, uint64_t input, uint32_t reduces, uint64_t shuffle,
                   uint64_t output);

struct TaskModel {
  // Seconds per byte at speed 1: 10 MB/s of a map and of a reduce, a guess near Hadoop's of 2010; the
  // merge is four times as fast.
  double map_cost = 1e-7, sort_cost = 2.5e-8, reduce_cost = 1e-7;
  // Straggler factor of each attempt (papers.md 1.4): lognormal(0, sigma), and with probability
  // tail times min(Pareto(2, 1.26), cap).
  double sigma = 0.15, tail = 0.05, tail_alpha = 1.26, tail_cap = 8;
  std::vector<float> factors;  // not empty: an attempt's factor is one of these, by chance
  // Bytes of disk per byte that a phase moves: read of a block; written of a map's output; copied, merged, read
  // by the reduce; of its output, written on its own worker, and on each of the others of output_replicas. 0: not felt.
  double read_disk = 1, map_disk = 0, copy_disk = 0, sort_disk = 0, reduce_disk = 0, output_disk = 0, replica_disk = 0;
  uint32_t output_replicas = 1;
  // Of the disks where outputs are kept, per byte that readers copy; 0: not felt (adr/0001).
  double serve_disk = 0;
  // P(an attempt of recorded time fails by no fault of its own, at some instant of that time).
  double fails = 0;
  Duration launch_delay = Millis(10);  // decision to first byte: a guess
  Duration kill_delay = Millis(10);
  Duration report_period = Seconds(1);  // 0: no progress reports
  double report_share = .05;            // of an attempt's work is reported at once, less after ten periods
};
// The same without chance: for examples worked by hand.
TaskModel Exact();

// The table [task] of a model file (README.md); what it does not name is as by default.
Result<TaskModel> ParseTasksToml(const std::string& text, const std::string& name);

enum class FaultKind : uint8_t { kCrash, kOutputLost, kContention };
struct Fault {
  FaultKind kind = FaultKind::kCrash;
  double at = 0;
  uint32_t worker = 0;
  double lasts = 0;   // crash: until it is back, 0 = never; contention: until it ends
  double factor = 1;  // contention: times as slow
};

struct FaultPlan {
  std::vector<Fault> faults;
  double late = 0, lost = 0, twice = 0;  // probability, of each launch and report of an end
  Duration lease = Seconds(10);          // from a crash to WorkerLost
  Duration late_by = Seconds(30);        // at most
  Duration resend = Seconds(3);          // of a lost message
  Duration probe = Seconds(1);           // from a read that fails to CopyLost: a guess
};

// "generate:facebook", "generate:bing,jobs=500,gap=2", "generate:mumak": see generate.cc.
Result<std::vector<JobModel>> Generate(const std::string& spec, uint64_t seed);
// That, or a trace (workload.h), of the format that its first line has.
Result<std::vector<JobModel>> LoadWorkload(const std::string& workload, const std::string& data, uint64_t seed);

}  // namespace mr::sim
