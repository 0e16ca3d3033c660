// Listings of job specs and stage infos (wire_walk.h). Only spec_wire.cc and control_wire.cc include this.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/model/job_spec.h"
#include "common/model/stage_info.h"
#include "common/rpc/wire_walk.h"
#include "schema/control.capnp.h"
#include "schema/job.capnp.h"

namespace mr::rpc {

static_assert(static_cast<int>(EdgeKind::ALL_TO_ALL) == static_cast<int>(mr::EdgeKind::kAllToAll));
static_assert(static_cast<int>(EdgeKind::MANY_TO_ONE) == static_cast<int>(mr::EdgeKind::kManyToOne));
static_assert(static_cast<int>(EdgeKind::ONE_TO_ONE) == static_cast<int>(mr::EdgeKind::kOneToOne));
static_assert(static_cast<int>(EdgeKind::BROADCAST) == static_cast<int>(mr::EdgeKind::kBroadcast));
static_assert(static_cast<int>(Wish::AUTO) == static_cast<int>(mr::Wish::kAuto));
static_assert(static_cast<int>(Wish::ON) == static_cast<int>(mr::Wish::kOn));
static_assert(static_cast<int>(Wish::OFF) == static_cast<int>(mr::Wish::kOff));

// Numbers of later releases are kept as far as they fit: Known() returns false for them.
inline mr::EdgeKind EnumFromWire(EnumOf<mr::EdgeKind>, EdgeKind kind) {
  return static_cast<mr::EdgeKind>(std::min<uint16_t>(static_cast<uint16_t>(kind), UINT8_MAX));
}
inline EdgeKind EnumToWire(EnumOf<mr::EdgeKind>, mr::EdgeKind kind) { return static_cast<EdgeKind>(kind); }
inline mr::Wish EnumFromWire(EnumOf<mr::Wish>, Wish wish) {
  return static_cast<mr::Wish>(std::min<uint16_t>(static_cast<uint16_t>(wish), UINT8_MAX));
}
inline Wish EnumToWire(EnumOf<mr::Wish>, mr::Wish wish) { return static_cast<Wish>(wish); }

template <class W>
void Walk(W& w, Is<mr::KeyValue> auto& pair) {
  MR_WIRE(w, pair.key, Key);
  MR_WIRE(w, pair.value, Value);
}

template <class W>
void Walk(W& w, Is<mr::UtilityPoint> auto& point) {
  MR_WIRE(w, InMillis(point.at), AtMs);
  MR_WIRE(w, point.utility, Utility);
}

template <class W>
void Walk(W& w, Is<mr::SideFile> auto& file) {
  MR_WIRE(w, file.name, Name);
  MR_WIRE(w, file.sha256, Sha256);
  MR_WIRE(w, file.bytes, Bytes);
}

template <class W>
void Walk(W& w, Is<mr::FileInput> auto& files) {
  MR_WIRE(w, AtMost(kMaxUris + 1, files.uris), Uris);
  MR_WIRE(w, files.format, Format);
  MR_WIRE(w, files.max_split_bytes, MaxSplitBytes);
  MR_WIRE(w, files.sample_bytes, SampleBytes);
}

// Null texts keep the canonical bytes as mrctl 0.1 made them.
struct Edge {
  template <class W>
  static void Walk(W& w, Is<mr::InputSpec> auto& input) {
    MR_WIRE(w, input.kind, Kind);
    MR_WIRE(w, input.stage, Stage);
    MR_WIRE(w, input.port, Port);
    MR_WIRE(w, input.grouped, Grouped);
    MR_WIRE(w, input.quotes, Quotes);
    MR_WIRE(w, OrNull(input.format), Format);
    MR_WIRE(w, OrNull(input.written), Written);
    MR_WIRE(w, OrNull(input.file), File);
    MR_WIRE(w, input.sample_bytes, SampleBytes);
    MR_WIRE(w, input.splits, Splits);
  }
};

template <class W>
void Walk(W& w, Is<mr::InputSpec> auto& input) {
  MR_WIRE_CASE(w, input.is_edge, false, input.files, Files);
  MR_WIRE_CASE(w, input.is_edge, true, As<Edge>(input), Edge);
  w.Unmatched(input.unknown);
}

struct Shuffle {
  template <class W>
  static void Walk(W& w, Is<mr::PortSpec> auto& port) {
    MR_WIRE(w, port.sorted, Sorted);
    MR_WIRE(w, port.combine, Combine);
    MR_WIRE(w, port.custom_partition, CustomPartition);
  }
};

struct OutputFiles {
  template <class W>
  static void Walk(W& w, Is<mr::PortSpec> auto& port) {
    MR_WIRE(w, port.format, Format);
    MR_WIRE(w, port.name, Name);
  }
};

template <class W>
void Walk(W& w, Is<mr::PortSpec> auto& port) {
  MR_WIRE_CASE(w, port.files, false, As<Shuffle>(port), Shuffle);
  MR_WIRE_CASE(w, port.files, true, As<OutputFiles>(port), Files);
  w.Unmatched(port.unknown);
}

template <class W>
void Walk(W& w, Is<mr::StageSpec> auto& stage) {
  MR_WIRE(w, stage.name, Name);
  MR_WIRE(w, stage.operator_name, Operator);
  MR_WIRE(w, AtMost(kMaxConfigBytes + 1, stage.config), Config);
  MR_WIRE(w, stage.tasks, Tasks);
  MR_WIRE(w, stage.inputs, Inputs);
  MR_WIRE(w, stage.ports, Ports);
  MR_WIRE(w, stage.flags, Flags);
  MR_WIRE(w, stage.task_bytes, TaskBytes);
  MR_WIRE(w, stage.memory_bytes, MemoryBytes);
  MR_WIRE(w, stage.builtin, Builtin);
}

struct Output {
  template <class W>
  static void Walk(W& w, Is<mr::JobSpec> auto& spec) {
    MR_WIRE(w, spec.output_uri, Uri);
    MR_WIRE(w, spec.overwrite, Overwrite);
  }
};

template <class W>
void Walk(W& w, Is<mr::JobSpec> auto& spec) {
  MR_WIRE(w, spec.name, Name);
  MR_WIRE(w, spec.queue, Queue);
  MR_WIRE(w, spec.priority, Priority);
  MR_WIRE(w, spec.library, Library);
  MR_WIRE(w, AtMost(kMaxStages + 1, spec.stages), Stages);
  MR_WIRE(w, As<Output>(spec), Output);
  MR_WIRE(w, spec.conf, Conf);
  MR_WIRE(w, spec.env, Env);
  MR_WIRE(w, spec.max_failures, MaxFailures);
  MR_WIRE(w, spec.memory_bytes, MemoryBytes);
  MR_WIRE(w, spec.policies, Policies);
  MR_WIRE(w, InMillis(spec.deadline), DeadlineMs);
  MR_WIRE(w, spec.sort_buffer_bytes, SortBufferBytes);
  MR_WIRE(w, spec.labels, Labels);
  MR_WIRE(w, spec.speculation, Speculation);
  MR_WIRE(w, spec.clones, Clones);
  MR_WIRE(w, spec.best_effort, BestEffort);
  MR_WIRE(w, AtMost(kMaxUtilityPoints + 1, spec.utility), Utility);
  MR_WIRE(w, spec.max_bad_records, MaxBadRecords);
  MR_WIRE(w, AtMost(kMaxSideFiles + 1, spec.files), Files);
  MR_WIRE(w, InMillis(spec.task_timeout), TaskTimeoutMs);
  MR_WIRE(w, spec.strict_inputs, StrictInputs);
  MR_WIRE(w, spec.allow_network, AllowNetwork);
  MR_WIRE(w, spec.min_tier, MinTier);
}

template <class W>
void Walk(W& w, Is<mr::StageInfo> auto& stage) {
  MR_WIRE(w, stage.id.job, Job);
  MR_WIRE(w, stage.id.stage, Stage);
  MR_WIRE(w, stage.library, Library);
  MR_WIRE(w, stage.spec, Spec);
  MR_WIRE(w, stage.tasks, Tasks);
  MR_WIRE(w, stage.port_partitions, PortPartitions);
  MR_WIRE(w, stage.env, Env);
  MR_WIRE(w, stage.memory_bytes, MemoryBytes);
  MR_WIRE(w, stage.sort_buffer_bytes, SortBufferBytes);
  MR_WIRE(w, stage.partition_seed, PartitionSeed);
  MR_WIRE(w, stage.staging_uri, StagingUri);
  MR_WIRE(w, stage.job_name, JobName);
  MR_WIRE(w, stage.files, Files);
  MR_WIRE(w, stage.max_bad_records, MaxBadRecords);
  MR_WIRE(w, InMillis(stage.task_timeout), TaskTimeoutMs);
  MR_WIRE(w, stage.strict_inputs, StrictInputs);
  MR_WIRE(w, stage.allow_network, AllowNetwork);
  MR_WIRE(w, stage.min_tier, MinTier);
  MR_WIRE(w, stage.owner, Owner);
  MR_WIRE(w, stage.submitted_unix_ms, SubmittedUnixMs);
}

}  // namespace mr::rpc
