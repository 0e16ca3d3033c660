// Converts the messages of control.capnp to the structs of common/model and back. Texts for people are cut to kCutBytes
// (wire_walk.h) when they are sent. Lists with a limit (common/model/report.h) are read up to the limit. Cost: linear.
// Thread: any.
#pragma once

#include "common/model/command.h"
#include "common/model/disk_room.h"
#include "common/model/report.h"
#include "common/rpc/wire.h"
#include "schema/control.capnp.h"

namespace mr::rpc {

// Most bytes that are read of each text in a report, so that no peer fills the memory.
inline constexpr size_t kMaxReportText = 16 << 10;

// Returns a report with `Unknown` for a kind that a later release added, and for `pieces`.
mr::Report FromWire(Report::Reader in);
// Writes a report. Requires: not Unknown.
void ToWire(const mr::Report& report, Report::Builder out);
// Returns an upper bound of the report's bytes in a message, for cutting batches.
size_t WireSize(const mr::Report& report);

// Returns `Unknown` for a kind that a later release added.
mr::Command FromWire(Command::Reader in);
// Writes a command. Requires: not Unknown.
void ToWire(const mr::Command& command, Command::Builder out);
mr::CommandBatch FromWire(CommandBatch::Reader in);
void ToWire(const mr::Answer& answer, Answer::Builder out);

mr::ProgressReport FromWire(Progress::Reader in);
void ToWire(const mr::ProgressReport& report, Progress::Builder out);

mr::Replica FromWire(Replica::Reader in);
void ToWire(const mr::Replica& replica, Replica::Builder out);

// Translates all fields except `aside`.
BlockRef FromWire(BlockReport::Reader in);
void ToWire(const BlockRef& block, BlockReport::Builder out);

// Translates all fields except `workers`, which are not sent.
LocatedBlock FromWire(BlockLocation::Reader in);
void ToWire(const LocatedBlock& block, BlockLocation::Builder out);

LaunchCommand FromWire(Launch::Reader in);
void ToWire(const LaunchCommand& launch, Launch::Builder out);

mr::StagedBlock FromWire(StagedBlock::Reader in);
void ToWire(const mr::StagedBlock& staged, StagedBlock::Builder out);

mr::DiskRoom FromWire(DiskRoom::Reader in);
void ToWire(const mr::DiskRoom& room, DiskRoom::Builder out);

// Returns kStale for a verdict that only a later release knows.
mr::Verdict FromWire(Verdict verdict);
Verdict ToWire(mr::Verdict verdict);

}  // namespace mr::rpc
