// The spec of a job: a graph of stages, their operators, inputs and ports, and the settings of the job. job.capnp
// explains the fields, and has their wire form (common/rpc/spec_wire.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/base/time.h"

namespace mr {

enum class EdgeKind : uint8_t {
  kAllToAll = 1,   // reading task j reads partition j of every upstream task
  kManyToOne = 2,  // reading task j reads all of a contiguous range of upstream tasks
  kOneToOne = 3,   // reading task i reads upstream task i
  kBroadcast = 4,  // every reading task reads all of every upstream task
};
// Returns whether this release knows the kind.
bool Known(EdgeKind kind);

// A user's wish for or against a family of policies (speculation, clones), independent of their names.
enum class Wish : uint8_t { kAuto = 0, kOn = 1, kOff = 2 };
bool Known(Wish wish);

struct KeyValue {
  std::string key, value;
  template <class V>
  static void Fields(V&& v) {
    v(&KeyValue::key, &KeyValue::value);
  }
  bool operator==(const KeyValue&) const = default;
};

// The utility of a job that ends at this time after its submission. Linear between two points.
struct UtilityPoint {
  Duration at;
  double utility = 0;
  template <class V>
  static void Fields(V&& v) {
    v(&UtilityPoint::at, &UtilityPoint::utility);
  }
  bool operator==(const UtilityPoint&) const = default;
};

// A file that each attempt finds beside its inputs: bytes by their SHA-256, uploaded like libraries.
struct SideFile {
  std::string name, sha256;
  uint64_t bytes = 0;
  template <class V>
  static void Fields(V&& v) {
    v(&SideFile::name, &SideFile::sha256, &SideFile::bytes);
  }
  bool operator==(const SideFile&) const = default;
};

// Files that a stage reads.
struct FileInput {
  std::vector<std::string> uris;
  std::string format;
  uint64_t max_split_bytes = 0;  // 0: the planner chooses
  uint64_t sample_bytes = 0;
  template <class V>
  static void Fields(V&& v) {
    using T = FileInput;
    v(&T::uris, &T::format, &T::max_split_bytes, &T::sample_bytes);
  }
  bool operator==(const FileInput&) const = default;
};

// One input of a stage: files, or an edge from an earlier stage.
struct InputSpec {
  bool unknown = false;  // a kind of input that only a later release knows
  bool is_edge = false;
  FileInput files;  // where it is no edge
  // The fields below belong to an edge.
  EdgeKind kind = EdgeKind::kAllToAll;
  uint32_t stage = 0, port = 0;
  bool grouped = false, quotes = false;
  std::string format, written, file;
  uint64_t sample_bytes = 0;
  bool splits = false;  // a fat partition may be read by several tasks, by ranges of upstream tasks
  template <class V>
  static void Fields(V&& v) {
    using T = InputSpec;
    v(&T::unknown, &T::is_edge, &T::files, &T::kind, &T::stage, &T::port, &T::grouped, &T::quotes, &T::format,
      &T::written, &T::file, &T::sample_bytes, &T::splits);
  }
  bool operator==(const InputSpec&) const = default;
};

// One output port of a stage: a shuffle, or files.
struct PortSpec {
  bool unknown = false;  // a kind of port that only a later release knows
  bool files = false;
  bool sorted = false, combine = false, custom_partition = false;  // of a shuffle
  std::string format, name;                                        // of files
  template <class V>
  static void Fields(V&& v) {
    using T = PortSpec;
    v(&T::unknown, &T::files, &T::sorted, &T::combine, &T::custom_partition, &T::format, &T::name);
  }
  bool operator==(const PortSpec&) const = default;
};

struct StageSpec {
  std::string name, operator_name;
  std::string config;         // of the operator: bytes
  uint32_t tasks = 0;         // 0: the planner chooses
  uint64_t task_bytes = 0;    // not 0: a task for each so many input bytes, if the planner chooses
  uint64_t memory_bytes = 0;  // per attempt; 0: as the job has it
  uint32_t flags = 0;         // mr_operator_flags
  bool builtin = false;       // the operator is in the built-in library, although the job names another one
  std::vector<InputSpec> inputs;
  std::vector<PortSpec> ports;
  template <class V>
  static void Fields(V&& v) {
    using T = StageSpec;
    v(&T::name, &T::operator_name, &T::config, &T::tasks, &T::task_bytes, &T::memory_bytes, &T::flags, &T::builtin,
      &T::inputs, &T::ports);
  }
  bool operator==(const StageSpec&) const = default;

  bool reads_files() const;
  // Returns whether a fat partition of an input may be split, so that the number of tasks is known only when the sizes
  // of the inputs are known.
  bool splits() const;
  // Returns whether the stage is a map: it reads files, or it has no inputs and makes its records itself.
  bool is_map() const { return inputs.empty() || reads_files(); }
  // Returns whether its outputs are files of the job.
  bool is_final() const;
  TaskLetter letter() const { return is_map() ? TaskLetter::kMap : TaskLetter::kReduce; }
};

struct JobSpec {
  std::string name, queue, library;
  int32_t priority = 0;
  std::vector<StageSpec> stages;
  std::string output_uri;
  bool overwrite = false;
  std::vector<KeyValue> conf, env, labels;
  uint32_t max_failures = 0;  // of one task; 0: the default
  uint64_t memory_bytes = 0;  // per attempt; 0: the worker's default
  uint64_t sort_buffer_bytes = 0;
  std::vector<std::string> policies;  // the job's own list; empty: the cluster's
  Duration deadline;                  // since the submission; 0: none
  bool best_effort = false;           // accepted also where the deadline cannot be met
  std::vector<UtilityPoint> utility;
  Wish speculation = Wish::kAuto, clones = Wish::kAuto;
  uint64_t max_bad_records = 0;  // in all tasks together
  std::vector<SideFile> files;
  Duration task_timeout = Millis(600'000);  // of an attempt without progress; 0: none
  bool strict_inputs = false;
  bool allow_network = false;  // attempts may make sockets of the internet families
  uint8_t min_tier = 0;        // of the rooms in which attempts run
  template <class V>
  static void Fields(V&& v) {
    using T = JobSpec;
    v(&T::name, &T::queue, &T::library, &T::priority, &T::stages, &T::output_uri, &T::overwrite, &T::conf, &T::env,
      &T::labels, &T::max_failures, &T::memory_bytes, &T::sort_buffer_bytes, &T::policies, &T::deadline,
      &T::best_effort, &T::utility, &T::speculation, &T::clones, &T::max_bad_records, &T::files, &T::task_timeout,
      &T::strict_inputs, &T::allow_network, &T::min_tier);
  }
  bool operator==(const JobSpec&) const = default;

  // Returns the memory of an attempt of this stage; 0: the worker's default.
  uint64_t MemoryOf(const StageSpec& stage) const {
    return stage.memory_bytes != 0 ? stage.memory_bytes : memory_bytes;
  }
  // Returns a name for the stage's operator that is the same in all jobs: its library's SHA-256 and its name. For a
  // built-in one, which may run a command line: its name and a digest of its configuration. Cost: that digest.
  std::string OperatorOf(const StageSpec& stage) const;
};

// Limits of a spec. Each stage must fit into a control message of 1 MiB.
inline constexpr size_t kMaxStages = 256;
inline constexpr size_t kMaxConfigBytes = 256 << 10;
inline constexpr size_t kMaxUtilityPoints = 100;
inline constexpr size_t kMaxUris = 10'000;
inline constexpr size_t kMaxSideFiles = 100;
inline constexpr uint32_t kMaxTasks = 100'000;  // of one stage

}  // namespace mr
