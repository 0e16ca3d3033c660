// A submitted job as plain values: read from its wire form and checked as a whole, so that later code
// need not check it again. The journal keeps the wire form itself (SpecBytes), and stage infos are copied
// from it.
#pragma once

#include <capnp/message.h>

#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/base/time.h"
#include "master/sched/event.h"
#include "master/sched/model.h"
#include "master/sched/scheduler.h"
#include "schema/job.capnp.h"

namespace mr::master {

struct FileSource {
  std::vector<std::string> uris;
  std::string format;
  uint64_t max_split_bytes = 0;  // 0 = DefaultSplitBytes
  uint64_t sample_bytes = 0;
};

struct InputSpec {
  bool is_edge = false;
  FileSource files;
  sched::EdgeKind kind = sched::EdgeKind::kAllToAll;
  uint32_t stage = 0, port = 0;
  bool splits = false;  // a fat partition may be read by several tasks, by ranges of upstream tasks
};

struct StageSpec {
  std::string name;
  uint32_t tasks = 0;
  uint64_t memory_bytes = 0;  // per attempt; 0: as the job has it
  uint64_t task_bytes = 0;    // not 0: a task for each so many, if the planner decides
  uint32_t flags = 0;
  bool is_final = false;
  // Which operator it is, in whatever job: its library's SHA-256 and its name; of a built-in one, which may run a
  // command line, its name and a digest of its configuration.
  std::string op;
  std::vector<InputSpec> inputs;
  uint32_t ports = 0;
  bool reads_files() const {
    for (const auto& input : inputs) {
      if (!input.is_edge) return true;
    }
    return false;
  }
  // Its tasks are fixed only when its inputs' sizes are known.
  bool splits() const {
    for (const auto& input : inputs) {
      if (input.splits) return true;
    }
    return false;
  }
  // One that makes its records itself is a map, too.
  bool is_map() const { return inputs.empty() || reads_files(); }
  TaskLetter letter() const { return is_map() ? TaskLetter::kMap : TaskLetter::kReduce; }
};

// A file that each attempt finds beside its inputs: bytes by their SHA-256, uploaded like libraries.
struct SideFile {
  std::string name, sha256;
};

struct JobSpec {
  std::string name, queue, library;
  int32_t priority = 0;
  uint32_t max_failures = 0;
  uint64_t memory_bytes = 0;
  Duration deadline;
  bool best_effort = false;  // accepted also where the deadline cannot be met
  std::vector<sched::UtilityPoint> utility;
  std::vector<std::string> policies;  // its own list
  sched::Wish speculation = sched::Wish::kAuto, clones = sched::Wish::kAuto;
  std::vector<StageSpec> stages;
  std::string output_uri;  // without a '/' at its end
  bool overwrite = false;
  uint64_t max_bad_records = 0;  // in all tasks together
  Duration task_timeout;         // of an attempt without progress; 0 = none
  std::vector<SideFile> files;
  // Returns the memory of an attempt of this stage; 0: the worker's default.
  uint64_t MemoryOf(const StageSpec& stage) const {
    return stage.memory_bytes != 0 ? stage.memory_bytes : memory_bytes;
  }
};

// Limits, ours: a spec must fit into control messages of 1 MiB, stage by stage.
inline constexpr size_t kMaxStages = 256;
inline constexpr size_t kMaxConfigBytes = 256 << 10;
inline constexpr size_t kMaxUtilityPoints = 100;
inline constexpr size_t kMaxUris = 10'000;
inline constexpr size_t kMaxSideFiles = 100;
inline constexpr uint32_t kMaxTasks = 100'000;  // of one stage

// kInvalidArgument with all that is wrong (at most ten faults), kRejected for schemes that are not
// supported yet. Looks at the spec alone, not at files.
Result<JobSpec> ReadSpec(rpc::JobSpec::Reader reader);

sched::JobGraph GraphOf(const JobSpec& spec);

// One spec, one byte string: equal specs have equal bytes.
std::string CanonicalBytes(rpc::JobSpec::Reader reader);

// Canonical bytes, and a reader over them. The reader lives as long as this.
class SpecBytes {
 public:
  explicit SpecBytes(const std::string& bytes);
  rpc::JobSpec::Reader reader();

 private:
  kj::Array<capnp::word> words_;
  kj::ArrayPtr<const capnp::word> segment_;
  std::unique_ptr<capnp::SegmentArrayMessageReader> message_;
};

}  // namespace mr::master
