// Types that events, decisions and the state share: job graph, plans of stages. Plain values. Each struct
// lists its fields once, in Fields(). Codec, digest and debug text come from that list (common/base/fields.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/digest.h"
#include "common/base/ids.h"
#include "common/base/time.h"
#include "common/model/attempt.h"
#include "common/model/job_spec.h"
#include "common/model/output.h"

namespace mr::sched {

using mr::EdgeKind;

enum class SlotKind : uint8_t { kMap = 1, kReduce = 2 };

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
