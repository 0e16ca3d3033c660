#include "common/rpc/control_wire.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "common/base/check.h"
#include "common/rpc/spec_walk.h"
#include "common/rpc/wire_walk.h"

namespace mr::rpc {

// ---- Enums ---------------------------------------------------------------------------------------

// A kind that only a later release knows is not charged to the user.
static mr::FailureKind EnumFromWire(EnumOf<mr::FailureKind>, FailureKind kind) {
  switch (kind) {
    case FailureKind::USER: return mr::FailureKind::kUser;
    case FailureKind::ENVIRONMENT: return mr::FailureKind::kEnvironment;
    case FailureKind::LOST: return mr::FailureKind::kLost;
    case FailureKind::KILLED: return mr::FailureKind::kKilled;
    case FailureKind::PREEMPTED: return mr::FailureKind::kPreempted;
    case FailureKind::USER_FINAL: return mr::FailureKind::kUserFinal;
    case FailureKind::UNSET: break;
  }
  return mr::FailureKind::kEnvironment;
}

static FailureKind EnumToWire(EnumOf<mr::FailureKind>, mr::FailureKind kind) { return static_cast<FailureKind>(kind); }

static_assert(static_cast<int>(FailureKind::USER) == static_cast<int>(mr::FailureKind::kUser));
static_assert(static_cast<int>(FailureKind::ENVIRONMENT) == static_cast<int>(mr::FailureKind::kEnvironment));
static_assert(static_cast<int>(FailureKind::LOST) == static_cast<int>(mr::FailureKind::kLost));
static_assert(static_cast<int>(FailureKind::KILLED) == static_cast<int>(mr::FailureKind::kKilled));
static_assert(static_cast<int>(FailureKind::PREEMPTED) == static_cast<int>(mr::FailureKind::kPreempted));
static_assert(static_cast<int>(FailureKind::USER_FINAL) == static_cast<int>(mr::FailureKind::kUserFinal));

static_assert(static_cast<int>(Verdict::NOTED) == static_cast<int>(mr::Verdict::kNoted));
static_assert(static_cast<int>(Verdict::WINNER) == static_cast<int>(mr::Verdict::kWinner));
static_assert(static_cast<int>(Verdict::REPLICA_KEPT) == static_cast<int>(mr::Verdict::kReplicaKept));
static_assert(static_cast<int>(Verdict::REPLICA_DROPPED) == static_cast<int>(mr::Verdict::kReplicaDropped));
static_assert(static_cast<int>(Verdict::DIFFERS) == static_cast<int>(mr::Verdict::kDiffers));
static_assert(static_cast<int>(Verdict::STALE) == static_cast<int>(mr::Verdict::kStale));
static_assert(static_cast<int>(Verdict::LATER) == static_cast<int>(mr::Verdict::kLater));

mr::Verdict FromWire(Verdict verdict) {
  return verdict <= Verdict::LATER ? static_cast<mr::Verdict>(verdict) : mr::Verdict::kStale;
}
Verdict ToWire(mr::Verdict verdict) { return static_cast<Verdict>(verdict); }

static mr::Verdict EnumFromWire(EnumOf<mr::Verdict>, Verdict verdict) { return FromWire(verdict); }
static Verdict EnumToWire(EnumOf<mr::Verdict>, mr::Verdict verdict) { return ToWire(verdict); }

// ---- Listings ------------------------------------------------------------------------------------

template <class W>
void Walk(W& w, Is<mr::Replica> auto& replica) {
  MR_WIRE(w, replica.output.task, Task);
  MR_WIRE(w, replica.output.generation, Generation);
  MR_WIRE(w, replica.attempt, Attempt);
  MR_WIRE(w, AsWorkerRef(replica.worker, replica.incarnation), Worker);
}

template <class W>
void Walk(W& w, Is<BlockRef> auto& block) {
  MR_WIRE(w, block.id, Id);
  MR_WIRE(w, block.generation, Generation);
  MR_WIRE(w, block.length, Length);
  MR_WIRE(w, block.digest, Digest);
}

template <class W>
void Walk(W& w, Is<LocatedBlock> auto& located) {
  Walk(w, located.block);
  MR_WIRE(w, located.offset, Offset);
  MR_WIRE(w, located.addresses, Addresses);
  MR_WIRE(w, located.damaged, Damaged);
  MR_WIRE(w, located.grants, Grants);
}

template <class W>
void Walk(W& w, Is<SplitToRead> auto& split) {
  MR_WIRE(w, split.input, Input);
  MR_WIRE(w, split.uri, Uri);
  MR_WIRE(w, split.offset, Offset);
  MR_WIRE(w, split.length, Length);
  MR_WIRE(w, split.file_bytes, FileBytes);
  MR_WIRE(w, split.blocks, Blocks);
  MR_WIRE(w, split.version.id, File);
  MR_WIRE(w, split.version.mtime_ns, MtimeNs);
  MR_WIRE(w, split.version.inode, Inode);
  MR_WIRE(w, split.version.device, Device);
  MR_WIRE(w, split.view, View);
}

template <class W>
void Walk(W& w, Is<mr::Slice> auto& slice) {
  MR_WIRE(w, slice.input, Input);
  MR_WIRE(w, slice.partition_begin, PartitionBegin);
  MR_WIRE(w, slice.partition_end, PartitionEnd);
  MR_WIRE(w, slice.task_begin, TaskBegin);
  MR_WIRE(w, slice.task_end, TaskEnd);
}

template <class W>
void Walk(W& w, Is<LaunchCommand> auto& launch) {
  MR_WIRE(w, launch.attempt, Attempt);
  MR_WIRE(w, launch.generation, Generation);
  MR_WIRE(w, launch.splits, Splits);
  MR_WIRE(w, launch.slices, Slices);
  MR_WIRE(w, launch.by_bind, ByBind);
}

// The wire has one struct of block and workers.
template <class W>
void Walk(W& w, Is<mr::StagedBlock> auto& staged) {
  Walk(w, staged.block);
  MR_WIRE(w, staged.workers, Workers);
}

template <class W>
void Walk(W& w, Is<mr::DiskRoom> auto& room) {
  MR_WIRE(w, room.free_bytes, FreeBytes);
  MR_WIRE(w, room.total_bytes, TotalBytes);
  MR_WIRE(w, room.full, Full);
  MR_WIRE(w, room.path, Path);
  MR_WIRE(w, room.no_inodes, NoInodes);
  MR_WIRE(w, room.disk, Disk);
  MR_WIRE(w, room.failure, Failure);
  MR_WIRE(w, room.no_space_unix_ms, NoSpaceUnixMs);
}

template <class W>
void Walk(W& w, Is<mr::ProgressReport> auto& report) {
  MR_WIRE(w, report.attempt, Attempt);
  MR_WIRE(w, report.phase, Phase);
  MR_WIRE(w, report.taken_bytes, TakenBytes);
  MR_WIRE(w, report.total_bytes, TotalBytes);
  MR_WIRE(w, report.records, Records);
  MR_WIRE(w, report.inputs_done, InputsDone);
}

template <class W>
void Walk(W& w, Is<mr::PartitionRow> auto& row) {
  MR_WIRE(w, row.records, Records);
  MR_WIRE(w, row.bytes, Bytes);
  MR_WIRE(w, row.content, Content);
  MR_WIRE(w, row.chunks, Chunks);
}

template <class W>
void Walk(W& w, Is<mr::FileOutput> auto& file) {
  MR_WIRE(w, file.name, Name);
  MR_WIRE(w, file.staged, Staged);
  MR_WIRE(w, file.bytes, Bytes);
  MR_WIRE(w, file.records, Records);
  MR_WIRE(w, file.content, Content);
  MR_WIRE(w, file.blocks, Blocks);
}

template <class W>
void Walk(W& w, Is<mr::Consumed> auto& consumed) {
  MR_WIRE(w, consumed.stage, Stage);
  MR_WIRE(w, consumed.task, Task);
  MR_WIRE(w, consumed.generation, Generation);
  MR_WIRE(w, consumed.content, Content);
}

template <class W>
void Walk(W& w, Is<mr::HotKey> auto& key) {
  MR_WIRE(w, key.port, Port);
  MR_WIRE(w, key.partition, Partition);
  MR_WIRE(w, key.hash, Hash);
  MR_WIRE(w, AtMost(kHotKeyPrefix, key.prefix), Prefix);
  MR_WIRE(w, key.cut, Cut);
  MR_WIRE(w, key.records, Records);
  MR_WIRE(w, key.bytes, Bytes);
}

// Omits the sizes of partitions, which a directory does not need.
template <class W>
void Walk(W& w, Is<TaskOutput> auto& output) {
  MR_WIRE(w, output.manifest.records, Records);
  MR_WIRE(w, output.manifest.bytes, Bytes);
  MR_WIRE(w, output.manifest.content, Content);
  MR_WIRE(w, AtMost(kInlineRows, output.rows), Table);
  MR_WIRE(w, output.partitions, Partitions);
  MR_WIRE(w, output.files, Outputs);
}

// The wire has the table in a Manifest. Its totals are not sent, since readers check the table alone.
struct TableOf {
  static void Walk(auto& w, auto& replica) {
    MR_WIRE(w, replica.content, Content);
    MR_WIRE(w, replica.table, Table);
    MR_WIRE(w, replica.partitions, Partitions);
  }
};
template <class W>
void Walk(W& w, Is<ReplicaLocation> auto& replica) {
  MR_WIRE(w, replica.output.task.task, Task);
  MR_WIRE(w, replica.output.generation, Generation);
  MR_WIRE(w, replica.attempt, Attempt);
  MR_WIRE(w, AsWorkerRef(replica.worker, replica.incarnation), Worker);
  MR_WIRE(w, replica.address, Address);
  MR_WIRE(w, As<TableOf>(replica), Manifest);
  MR_WIRE(w, replica.grant, Grant);
}

template <class W>
void Walk(W& w, Is<report::Finished> auto& finished) {
  MR_WIRE(w, finished.output, Manifest);
  MR_WIRE(w, finished.consumed, Consumed);
  MR_WIRE(w, InMicros(finished.ran), RanUs);
  MR_WIRE(w, InMicros(finished.waited), WaitedUs);
  MR_WIRE(w, finished.counters, Counters);
  MR_WIRE(w, CutLines(kMaxBadRecords, finished.bad_records), BadRecords);
  MR_WIRE(w, AtMost(kSizedRows, finished.output.partition_kib), PartitionKib);
  MR_WIRE(w, AtMost(kMaxHotKeys, finished.hot_keys), HotKeys);
  MR_WIRE(w, CutLines(kMaxGrown, finished.grown), Grown);
}

template <class W>
void Walk(W& w, Is<report::Failed> auto& failed) {
  MR_WIRE(w, failed.kind, Kind);
  MR_WIRE(w, Cut(failed.message), Message);
  MR_WIRE(w, Cut(failed.record), Record);
  MR_WIRE(w, Cut(failed.stderr_tail), StderrTail);
  MR_WIRE(w, AtMost(kKeptLogBytes, failed.log), Log);
  MR_WIRE(w, failed.log_bytes, LogBytes);
}

template <class W>
void Walk(W& w, Is<report::FetchFailed> auto& failed) {
  MR_WIRE(w, failed.replica, Replica);
  MR_WIRE(w, Cut(failed.why), Why);
  MR_WIRE(w, failed.unreachable, Unreachable);
}

template <class W>
void Walk(W& w, Is<report::FetchDone> auto& done) {
  MR_WIRE(w, done.replica, Replica);
  MR_WIRE(w, done.bytes, Bytes);
  MR_WIRE(w, InMicros(done.took), TookUs);
  MR_WIRE(w, done.readers, Readers);
}

template <class W>
void Walk(W& w, Is<report::ReplicaNotMade> auto& failed) {
  MR_WIRE(w, failed.from, Replica);
  MR_WIRE(w, Cut(failed.why), Why);
  MR_WIRE(w, failed.here, Here);
}

template <class W>
void Walk(W& w, Is<mr::Report> auto& report) {
  MR_WIRE(w, report.attempt, Attempt);
  MR_WIRE_KIND(w, report.what, report::Started, v, Started);
  MR_WIRE_KIND(w, report.what, report::Finished, v, Finished);
  MR_WIRE_KIND(w, report.what, report::Failed, v, Failed);
  MR_WIRE_KIND(w, report.what, report::Refused, Cut(v.why), Refused);
  MR_WIRE_KIND(w, report.what, report::Killed, v, Killed);
  MR_WIRE_KIND(w, report.what, report::FetchFailed, v, FetchFailed);
  MR_WIRE_KIND(w, report.what, report::FetchDone, v, FetchDone);
  MR_WIRE_KIND(w, report.what, report::ReplicaMade, v.replica, ReplicaMade);
  MR_WIRE_KIND(w, report.what, report::ReplicaNotMade, v, ReplicaNotMade);
}

template <class W>
void Walk(W& w, Is<mr::DirectoryDelta> auto& delta) {
  MR_WIRE(w, delta.stage.job, Job);
  MR_WIRE(w, delta.stage.stage, Stage);
  MR_WIRE(w, delta.version, Version);
  MR_WIRE(w, InStage(delta.stage, delta.added), Added);
  MR_WIRE(w, delta.removed, Removed);
}

template <class W>
void Walk(W& w, Is<command::Bind> auto& bind) {
  MR_WIRE(w, bind.reader, Reader);
  MR_WIRE(w, bind.stage, Stage);
  MR_WIRE(w, InStage({bind.reader.task.job, bind.stage}, bind.replica), Entry);
}

template <class W>
void Walk(W& w, Is<command::ReplicateOutput> auto& replicate) {
  MR_WIRE(w, replicate.stage.job, Job);
  MR_WIRE(w, replicate.stage.stage, Stage);
  MR_WIRE(w, InStage(replicate.stage, replicate.from), Source);
}

template <class W>
void Walk(W& w, Is<command::ReplicateBlock> auto& replicate) {
  MR_WIRE(w, replicate.block, Block);
  MR_WIRE(w, replicate.to_address, ToAddress);
  MR_WIRE(w, replicate.grant, Grant);
}

template <class W>
void Walk(W& w, Is<mr::Command> auto& command) {
  MR_WIRE_KIND(w, command, LaunchCommand, v, Launch);
  MR_WIRE_KIND(w, command, command::Kill, v.attempt, Kill);
  MR_WIRE_KIND(w, command, command::TakeBack, v.attempt, TakeBack);
  MR_WIRE_KIND(w, command, mr::StageInfo, v, Stage);
  MR_WIRE_KIND(w, command, mr::DirectoryDelta, v, Directory);
  MR_WIRE_KIND(w, command, command::Bind, v, Bind);
  MR_WIRE_KIND(w, command, command::DropReplica, v.replica, Drop);
  MR_WIRE_KIND(w, command, command::EndJob, v.job, EndJob);
  MR_WIRE_KIND(w, command, command::DeleteBlock, v.block, DeleteBlock);
  MR_WIRE_KIND(w, command, command::ReplicateBlock, v, ReplicateBlock);
  MR_WIRE_KIND(w, command, command::Drain, v.on, Drain);
  MR_WIRE_KIND(w, command, command::ReplicateOutput, v, ReplicateOutput);
  MR_WIRE_KIND(w, command, command::EmptyQuarantine, v.block, EmptyQuarantine);
}

template <class W>
void Walk(W& w, Is<mr::Answer> auto& answer) {
  MR_WIRE(w, answer.report, Report);
  MR_WIRE(w, answer.verdict, Verdict);
}

template <class W>
void Walk(W& w, Is<mr::CommandBatch> auto& batch) {
  MR_WIRE(w, batch.master_epoch, MasterEpoch);
  MR_WIRE(w, batch.sequence, Sequence);
  MR_WIRE(w, batch.answers, Answers);
  MR_WIRE(w, batch.commands, Commands);
}

// ---- Messages ------------------------------------------------------------------------------------

mr::Report FromWire(Report::Reader in) { return ReadWire<mr::Report>(in, kMaxReportText); }
void ToWire(const mr::Report& report, Report::Builder out) {
  MR_CHECK(!std::holds_alternative<report::Unknown>(report.what), "a report of no kind has no wire form");
  WriteWire(report, out);
}

mr::Command FromWire(Command::Reader in) { return ReadWire<mr::Command>(in); }
void ToWire(const mr::Command& command, Command::Builder out) {
  MR_CHECK(!std::holds_alternative<command::Unknown>(command), "a command of no kind has no wire form");
  WriteWire(command, out);
}

mr::CommandBatch FromWire(CommandBatch::Reader in) { return ReadWire<mr::CommandBatch>(in); }
void ToWire(const mr::Answer& answer, Answer::Builder out) { WriteWire(answer, out); }

size_t WireSize(const mr::Report& report) {
  size_t bytes = 256;
  if (const auto* finished = std::get_if<report::Finished>(&report.what)) {
    const TaskOutput& output = finished->output;
    bytes += output.rows.size() * 64 + finished->consumed.size() * 48 + finished->bad_records.size() * kCutBytes +
             output.partition_kib.size() * 4 + finished->hot_keys.size() * 128 + finished->grown.size() * kCutBytes;
    for (const auto& counter : finished->counters) {
      bytes += 64 + std::min(counter.group.size(), kCutBytes) + std::min(counter.name.size(), kCutBytes);
    }
    for (const mr::FileOutput& file : output.files) {
      bytes += 128 + file.name.size() + file.staged.size();
      for (const mr::StagedBlock& block : file.blocks) bytes += 64 + block.workers.size() * 4;
    }
  } else if (const auto* failed = std::get_if<report::Failed>(&report.what)) {
    bytes += 3 * kCutBytes + failed->log.size();
  } else {
    bytes += kCutBytes;  // most kinds have one text
  }
  return bytes;
}

mr::ProgressReport FromWire(Progress::Reader in) { return ReadWire<mr::ProgressReport>(in, kMaxReportText); }
void ToWire(const mr::ProgressReport& report, Progress::Builder out) { WriteWire(report, out); }

mr::Replica FromWire(Replica::Reader in) { return ReadWire<mr::Replica>(in, kMaxReportText); }
void ToWire(const mr::Replica& replica, Replica::Builder out) { WriteWire(replica, out); }

BlockRef FromWire(BlockReport::Reader in) { return ReadWire<BlockRef>(in, kMaxReportText); }
void ToWire(const BlockRef& block, BlockReport::Builder out) { WriteWire(block, out); }

LocatedBlock FromWire(BlockLocation::Reader in) { return ReadWire<LocatedBlock>(in); }
void ToWire(const LocatedBlock& block, BlockLocation::Builder out) { WriteWire(block, out); }

LaunchCommand FromWire(Launch::Reader in) { return ReadWire<LaunchCommand>(in); }
void ToWire(const LaunchCommand& launch, Launch::Builder out) { WriteWire(launch, out); }

mr::StagedBlock FromWire(StagedBlock::Reader in) { return ReadWire<mr::StagedBlock>(in, kMaxReportText); }
void ToWire(const mr::StagedBlock& staged, StagedBlock::Builder out) { WriteWire(staged, out); }

mr::DiskRoom FromWire(DiskRoom::Reader in) { return ReadWire<mr::DiskRoom>(in, kMaxReportText); }
void ToWire(const mr::DiskRoom& room, DiskRoom::Builder out) { WriteWire(room, out); }

}  // namespace mr::rpc
