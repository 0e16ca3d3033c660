// Types that events, decisions and the state share: job graph, plans of stages, manifests. Plain values. Each struct
// lists its fields once, in Fields(). Codec, digest and debug text come from that list (common/base/fields.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/digest.h"
#include "common/base/ids.h"
#include "common/base/time.h"

namespace mr::sched {

enum class EdgeKind : uint8_t {
  kAllToAll = 1,   // reading task j reads partition j of every upstream task
  kManyToOne = 2,  // reading task j reads all of a contiguous range of upstream tasks
  kOneToOne = 3,   // reading task i reads upstream task i
  kBroadcast = 4,  // every reading task reads all of every upstream task
};

enum class SlotKind : uint8_t { kMap = 1, kReduce = 2 };

// Cause of a failure. Only kUser is charged to the retry budget. kLost: the worker or an input is lost. kUserFinal:
// like kUser, but no other attempt would do better, so the job fails at once.
enum class FailureKind : uint8_t {
  kUser = 1,
  kEnvironment = 2,
  kLost = 3,
  kKilled = 4,
  kPreempted = 5,
  kUserFinal = 6
};

// Why an attempt exists. kOpportunistic: a clone on an idle slot, lent until other work can use it.
enum class Cause : uint8_t { kFirst = 1, kRetry = 2, kClone = 3, kSpeculative = 4, kRestart = 5, kOpportunistic = 6 };

inline constexpr size_t kCauses = 6;
inline size_t CauseIndex(Cause cause) { return static_cast<size_t>(cause) - 1; }
// Returns "first", "retry", "clone", "speculative", "restart" or "opportunistic".
const char* CauseName(Cause cause);

// Totals of a job's attempts of one cause. wasted: slot time of attempts that gave up their slot and did not commit.
struct CauseCount {
  uint64_t launched = 0, won = 0;  // won: committed
  Duration wasted;
  template <class V>
  static void Fields(V&& v) {
    v(&CauseCount::launched, &CauseCount::won, &CauseCount::wasted);
  }
  bool operator==(const CauseCount&) const = default;
};

// One input of a stage: splits of files, or an edge from another stage of the job.
struct StageInput {
  bool is_edge = false;
  EdgeKind edge = EdgeKind::kAllToAll;
  uint32_t upstream = 0;  // stage index, smaller than that of the reading stage
  template <class V>
  static void Fields(V&& v) {
    v(&StageInput::is_edge, &StageInput::edge, &StageInput::upstream);
  }
  bool operator==(const StageInput&) const = default;
};

struct StageSpec {
  std::string name;
  SlotKind slot_kind = SlotKind::kMap;
  bool side_effects = false;  // never more than one live attempt
  bool is_final = false;      // its outputs are files: durable, never lost with a worker
  uint32_t max_failures = 4;  // kUser failures of one task that fail the job (Hadoop's default)
  uint64_t memory_bytes = 0;  // per attempt; 0 = the worker's default
  std::vector<StageInput> inputs;
  template <class V>
  static void Fields(V&& v) {
    v(&StageSpec::name, &StageSpec::slot_kind, &StageSpec::side_effects, &StageSpec::is_final, &StageSpec::max_failures,
      &StageSpec::memory_bytes, &StageSpec::inputs);
  }
  bool operator==(const StageSpec&) const = default;
};

struct JobGraph {
  std::vector<StageSpec> stages;  // in topological order: an edge points to a smaller index
  template <class V>
  static void Fields(V&& v) {
    v(&JobGraph::stages);
  }
  bool operator==(const JobGraph&) const = default;
};

// One task's read of one edge: partitions [partition_begin, partition_end) of the outputs of upstream tasks
// [task_begin, task_end). Partition numbers span all ports of the stage.
struct Slice {
  uint32_t input = 0;  // index in StageSpec::inputs
  uint32_t partition_begin = 0, partition_end = 0;
  uint32_t task_begin = 0, task_end = 0;
  template <class V>
  static void Fields(V&& v) {
    v(&Slice::input, &Slice::partition_begin, &Slice::partition_end, &Slice::task_begin, &Slice::task_end);
  }
  bool operator==(const Slice&) const = default;
};

struct TaskPlan {
  uint64_t input_bytes = 0;         // 0 where not known
  std::vector<WorkerId> preferred;  // hold the split's bytes; nearest first
  std::vector<Slice> slices;
  template <class V>
  static void Fields(V&& v) {
    v(&TaskPlan::input_bytes, &TaskPlan::preferred, &TaskPlan::slices);
  }
  bool operator==(const TaskPlan&) const = default;
};

// Summary of an attempt's output: totals and the digest over all partitions. The partition table itself stays with
// the host (inline up to 64 partitions, else chunk 0 of the output).
struct Manifest {
  uint64_t records = 0;
  uint64_t bytes = 0;  // uncompressed
  Digest128 content;   // digest of the partition table: counts and content digests, in order
  template <class V>
  static void Fields(V&& v) {
    v(&Manifest::records, &Manifest::bytes, &Manifest::content);
  }
  bool operator==(const Manifest&) const = default;
};

// A reader's report of what it consumed of one upstream task.
struct Consumed {
  uint32_t stage = 0, task = 0;
  uint32_t generation = 0;
  Digest128 content;  // Manifest::content of the output that it read
  template <class V>
  static void Fields(V&& v) {
    v(&Consumed::stage, &Consumed::task, &Consumed::generation, &Consumed::content);
  }
  bool operator==(const Consumed&) const = default;
};

// A place where an output can be read.
struct Replica {
  OutputId output;
  uint32_t attempt = 0;  // number of the attempt that made the output
  WorkerId worker;
  Incarnation incarnation = 0;
  template <class V>
  static void Fields(V&& v) {
    v(&Replica::output, &Replica::attempt, &Replica::worker, &Replica::incarnation);
  }
  bool operator==(const Replica&) const = default;
};

struct Slots {
  uint32_t total = 0;
  uint32_t map = 0;     // cap; 0 = total
  uint32_t reduce = 0;  // cap; 0 = total
  template <class V>
  static void Fields(V&& v) {
    v(&Slots::total, &Slots::map, &Slots::reduce);
  }
  bool operator==(const Slots&) const = default;
};

}  // namespace mr::sched

namespace mr {

// Words of master, workers and clients alike.
using sched::Cause;
using sched::CauseIndex;
using sched::CauseName;
using sched::Consumed;
using sched::FailureKind;
using sched::kCauses;
using sched::Manifest;
using sched::Replica;
using sched::Slice;

}  // namespace mr
